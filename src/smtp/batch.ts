import { mailFrom, RSET, rcptTo } from "./command.ts";
import type { SessionEnd } from "./handshake.ts";
import type { Mailbox, ReversePath } from "./mailbox.ts";
import type { FailureCause } from "./outcome.ts";
import type { Reply } from "./reply.ts";

/** One recipient to ask about. */
export interface Transaction {
  readonly mailbox: Mailbox;
  /** Nobody waits for the answer any more: what is not written yet need not be. */
  cancelled(): boolean;
}

export type TransactionEnd =
  | { kind: "reply"; stage: "mail" | "rcpt"; reply: Reply }
  /** `inTurn`: the session broke on this transaction; else before its turn came, so it says nothing of it. */
  | { kind: "failure"; stage: "mail" | "rcpt"; cause: FailureCause; detail: string; inTurn: boolean };

/**
 * What a reply means for the batch: `await` the next one, `write` the next command (lock step only), `done`,
 * `closing` (421: the server goes away), `out_of_step` (no reply of this batch can be trusted).
 */
export type BatchStep = "await" | "write" | "done" | "closing" | "out_of_step";

const MAIL = 0;
const RCPT = 1;
const STEPS = 3;

/** No transaction is left for this to apply to. */
const COMPLETE: SessionEnd = { kind: "failure", stage: "rcpt", cause: "closed", detail: "complete" };

const accepted = (reply: Reply) => reply.code < 300;

/**
 * Transactions of one recipient each, `MAIL FROM` / `RCPT TO` / `RSET`, as a pure machine. Pipelined, all groups go
 * in one write (RFC 2920 lets RSET stand anywhere in a group); in lock step each command waits for its reply.
 *
 * Attribution: replies carry no address, only their order. A server that answers once too often would shift every
 * later reply, so no result counts before the RSET behind it was answered 2xx, and a positive MAIL before each
 * positive RCPT: a refusal that slipped by one lands on RSET and gives the shift away. Ends are read after `done`,
 * or by `abandon` when the session broke.
 */
export class Batch {
  readonly transactions: readonly Transaction[];
  /** Some mailbox is not ASCII. */
  readonly utf8: boolean;
  readonly #pipelined: boolean;
  readonly #ends: (TransactionEnd | undefined)[];
  #turn = 0;
  #step = MAIL;
  #next = "";

  /** @param transactions at least one; without pipelining exactly one. */
  constructor(transactions: readonly Transaction[], from: ReversePath, pipelined: boolean) {
    this.transactions = transactions;
    this.utf8 = transactions.some(({ mailbox }) => mailbox.utf8);
    this.#pipelined = pipelined;
    this.#ends = new Array(transactions.length);
    for (const { mailbox } of transactions) {
      this.#next += mailFrom(from, mailbox.utf8);
      if (pipelined) this.#next += rcptTo(mailbox) + RSET;
    }
  }

  /** What to write now. */
  get next(): string {
    return this.#next;
  }

  /** Stage of the transaction in turn. */
  get stage(): "mail" | "rcpt" {
    return this.#step === MAIL ? "mail" : "rcpt";
  }

  /** After `done`: one end per transaction, in order. */
  get ends(): readonly TransactionEnd[] {
    return this.abandon(COMPLETE);
  }

  accept(reply: Reply): BatchStep {
    if (reply.code === 421) return this.#goodbye(reply);
    if (reply.code >= 300 && reply.code < 400) return "out_of_step";
    if (this.#step === MAIL) return this.#mailReply(reply);
    if (this.#step === RCPT) return this.#rcptReply(reply);
    if (!accepted(reply)) return "out_of_step";
    this.#turn++;
    this.#step = MAIL;
    return this.#turn === this.transactions.length ? "done" : "await";
  }

  /**
   * The session broke: ends for all. Kept is what its RSET stands behind, a refusal in turn (servers like to hang up
   * after one) and whatever lock step has heard; nothing, when the server was out of step.
   */
  abandon(end: SessionEnd): readonly TransactionEnd[] {
    const cause = end.kind === "failure" ? end.cause : "closed";
    const detail = end.kind === "failure" ? end.detail : `${end.reply.code}`;
    return this.transactions.map((_, index) => {
      const known = this.#ends[index];
      if (cause === "protocol") return { kind: "failure", stage: this.stage, cause, detail, inTurn: true };
      if (known && (index < this.#turn || !this.#pipelined || isRefusal(known))) return known;
      if (index === this.#turn) return { kind: "failure", stage: this.stage, cause, detail, inTurn: true };
      return { kind: "failure", stage: "mail", cause, detail, inTurn: false };
    });
  }

  #mailReply(reply: Reply): BatchStep {
    this.#step = RCPT;
    if (!accepted(reply)) {
      this.#ends[this.#turn] = { kind: "reply", stage: "mail", reply };
      return this.#pipelined ? "await" : this.#skipRcpt();
    }
    if (this.#pipelined) return "await";
    const transaction = this.transactions[this.#turn];
    if (!transaction) return "out_of_step";
    if (transaction.cancelled()) {
      const detail = "cancelled before RCPT";
      this.#ends[this.#turn] = { kind: "failure", stage: "rcpt", cause: "cancelled", detail, inTurn: true };
      return this.#skipRcpt();
    }
    this.#next = rcptTo(transaction.mailbox);
    return "write";
  }

  #skipRcpt(): BatchStep {
    this.#step = STEPS - 1;
    this.#next = RSET;
    return "write";
  }

  #rcptReply(reply: Reply): BatchStep {
    const refusedMail = this.#ends[this.#turn] !== undefined;
    if (refusedMail && accepted(reply)) return "out_of_step";
    if (!refusedMail) this.#ends[this.#turn] = { kind: "reply", stage: "rcpt", reply };
    this.#step = STEPS - 1;
    this.#next = RSET;
    return this.#pipelined ? "await" : "write";
  }

  #goodbye(reply: Reply): BatchStep {
    if (this.#step !== STEPS - 1) this.#ends[this.#turn] ??= { kind: "reply", stage: this.stage, reply };
    return "closing";
  }
}

function isRefusal(end: TransactionEnd): boolean {
  return end.kind === "failure" || !accepted(end.reply);
}
