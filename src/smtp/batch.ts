import { mailFrom, RSET, rcptTo, transactionOf } from "./command.ts";
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
  /** `blame`: what a session that broke has to do with this transaction. */
  | { kind: "failure"; stage: "mail" | "rcpt"; cause: FailureCause; detail: string; blame: Blame };

/**
 * `own`: the session broke on this transaction. `unsure`: it may have, or on what was written along with it; only asked
 * by itself, in lock step, it can tell. `not_reached`: its turn had not come, so that nothing is said of it.
 */
export type Blame = "own" | "unsure" | "not_reached";

/**
 * What a reply means for the batch: `await` the next one, `write` the next command (lock step only), `done`,
 * `closing` (421, or RSET refused in lock step: the session is over), `out_of_step` (no reply of this batch can be trusted).
 */
export type BatchStep = "await" | "write" | "done" | "closing" | "out_of_step";

/** Transactions of a batch that are through: their RSET was answered. */
export interface Through {
  transactions: number;
  rejections: number;
  /** What the RSET after them was refused with, if it was. */
  refused: Reply | null;
}

const MAIL = 0;
const RCPT = 1;
const STEPS = 3;

/** Nobody has this after `done`. */
const UNHEARD: TransactionEnd = {
  kind: "failure",
  stage: "rcpt",
  cause: "protocol",
  detail: "no end",
  blame: "own",
};

const accepted = (reply: Reply) => reply.code < 300;

/** The last two ends at RCPT, by whether he was accepted: the parser hands out the same reply again and again. */
const lastAtRcpt: Extract<TransactionEnd, { kind: "reply" }>[] = [];

/** The end that `reply` to RCPT is. Nobody changes it, and most are one of two. */
function endAtRcpt(reply: Reply): TransactionEnd {
  const place = accepted(reply) ? 0 : 1;
  const last = lastAtRcpt[place];
  if (last !== undefined && last.reply === reply) return last;
  const end = { kind: "reply", stage: "rcpt", reply } as const;
  lastAtRcpt[place] = end;
  return end;
}

/**
 * Transactions of one recipient each, `MAIL FROM` / `RCPT TO` / `RSET`, as a pure machine. Pipelined, all groups go
 * in one write (RFC 2920 lets RSET stand anywhere in a group); in lock step each command waits for its reply.
 *
 * Attribution: replies carry no address, only their order. A server that answers once too often would shift every
 * later reply, so no result counts before the RSET behind it was answered 2xx, and a positive MAIL before each
 * positive RCPT: a refusal that slipped by one lands on RSET and gives the shift away. (Three replies too many, all
 * positive and in time, would pass; no server is known to do that.) Ends are read after `done`,
 * or by `abandon` when the session broke: then nothing of a pipelined write counts, and is asked again in lock step.
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
  #refusedReset: Reply | null = null;
  /** How far it had come when the first late reply came. */
  late: Through | null = null;

  /** @param transactions at least one; without pipelining exactly one. */
  constructor(transactions: readonly Transaction[], from: ReversePath, pipelined: boolean) {
    this.transactions = transactions;
    this.#pipelined = pipelined;
    // Of its length from the start: one that is added to has room for sixteen more.
    this.#ends = new Array(transactions.length).fill(undefined);
    let utf8 = false;
    for (const { mailbox } of transactions) {
      utf8 ||= mailbox.utf8;
      this.#next += pipelined ? transactionOf(from, mailbox) : mailFrom(from, mailbox.utf8);
    }
    this.utf8 = utf8;
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
    const ends = this.#ends;
    for (let i = 0; i < ends.length; i++) ends[i] ??= UNHEARD;
    return ends as TransactionEnd[];
  }

  get through(): Through {
    const rejections = this.#ends.slice(0, this.#turn).filter((end) => end && isRefusal(end)).length;
    return { transactions: this.#turn, rejections, refused: this.#refusedReset };
  }

  /** The reply that comes now was long in coming. */
  noteLate(): void {
    this.late ??= this.through;
  }

  accept(reply: Reply): BatchStep {
    if (reply.code === 421) return this.#goodbye(reply);
    if (reply.code >= 300 && reply.code < 400) return "out_of_step";
    if (this.#step === MAIL) return this.#mailReply(reply);
    if (this.#step === RCPT) return this.#rcptReply(reply);
    // Some servers refuse the RSET that is one too many for them: in lock step that takes nothing back.
    if (!accepted(reply)) {
      this.#refusedReset = reply;
      return this.#pipelined ? "out_of_step" : "closing";
    }
    this.#turn++;
    this.#step = MAIL;
    return this.#turn === this.transactions.length ? "done" : "await";
  }

  /**
   * The session broke: ends for all. What lock step has heard is kept. Of a pipelined write nothing is, unless it came to
   * its proper end: a reply too many or too few anywhere puts all later ones in a wrong place, and only the end would
   * have shown it. Exceptions, of a write for one recipient: the server broke off before it answered about him, or hung
   * up after it had refused him, as servers like to.
   */
  abandon(end: SessionEnd): readonly TransactionEnd[] {
    const cause = end.kind === "failure" ? end.cause : "closed";
    const detail = end.kind === "failure" ? end.detail : `${end.reply.code}`;
    const unsure = this.#pipelined && !this.#isPlain(cause);
    const broken = {
      kind: "failure",
      stage: this.stage,
      cause,
      detail,
      blame: unsure ? "unsure" : "own",
    } as const;
    const unanswered = { kind: "failure", stage: "mail", cause, detail, blame: "not_reached" } as const;
    return this.transactions.map((_, index) => {
      if (cause === "protocol") return broken;
      if (index > this.#turn) return unanswered;
      return (unsure ? undefined : this.#ends[index]) ?? broken;
    });
  }

  /** What a broken pipelined write for one recipient leaves no doubt of. */
  #isPlain(cause: FailureCause): boolean {
    if (this.transactions.length > 1) return false;
    const [known] = this.#ends;
    return cause !== "protocol" && (known === undefined || (cause === "closed" && isRefusal(known)));
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
      this.#ends[this.#turn] = { kind: "failure", stage: "rcpt", cause: "cancelled", detail, blame: "own" };
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
    if (!refusedMail) this.#ends[this.#turn] = endAtRcpt(reply);
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
