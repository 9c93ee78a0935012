import { mailFrom, RSET, rcptTo, transactionCommands } from "../wire/command.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import type { Mailbox, ReversePath } from "../wire/mailbox.ts";
import type { FailureCause } from "../wire/outcome.ts";
import type { SmtpReply } from "../wire/reply.ts";

/** One recipient to ask about. */
export interface SmtpTransaction {
  readonly mailbox: Mailbox;
  /** The caller no longer wants the answer: commands not written yet need not be. */
  cancelled(): boolean;
}

export type TransactionEnd =
  | { kind: "reply"; stage: "mail" | "rcpt"; reply: SmtpReply }
  /** `blame`: how a broken session relates to this transaction. */
  | { kind: "failure"; stage: "mail" | "rcpt"; cause: FailureCause; detail: string; blame: Blame };

/**
 * The session's end, as it concerns a transaction. `own`: the session broke on this transaction. `unsure`: it broke on this
 * transaction or on another of the same write; only a retry alone, in lock step, shows which. `not_reached`: the server had
 * not reached it, so the break says nothing about it.
 */
export type Blame = "own" | "unsure" | "not_reached";

/**
 * What a reply means for the batch: `await` the next one, `write` the next command (lock step only), `done`, `closing`
 * (421, or RSET refused in lock step: the session is over), `out_of_step` (no reply of this batch can be trusted).
 */
export type BatchStep = "await" | "write" | "done" | "closing" | "out_of_step";

/** Finished transactions of a batch: their RSET was answered. */
export interface BatchProgress {
  transactions: number;
  rejections: number;
  /** The reply that refused the RSET after them; null: it was accepted. */
  refused: SmtpReply | null;
}

const MAIL = 0;
const RCPT = 1;
const STEPS = 3;

/** Placeholder; always replaced before `done` fires. */
const PENDING: TransactionEnd = {
  kind: "failure",
  stage: "rcpt",
  cause: "protocol",
  detail: "no end",
  blame: "own",
};

const isAccepted = (reply: SmtpReply) => reply.code < 300;

/** The last two ends at RCPT, one refused and one accepted: the parser returns the same reply object again and again. */
const lastRcptEnds: Extract<TransactionEnd, { kind: "reply" }>[] = [];

/** The end for a `reply` to RCPT. Ends are immutable and most are one of two, so they are shared. */
function toRcptEnd(reply: SmtpReply): TransactionEnd {
  const index = isAccepted(reply) ? 0 : 1;
  const last = lastRcptEnds[index];
  if (last !== undefined && last.reply === reply) return last;
  const end = { kind: "reply", stage: "rcpt", reply } as const;
  lastRcptEnds[index] = end;
  return end;
}

/**
 * Transactions of one recipient each (`MAIL FROM`, `RCPT TO`, `RSET`) as a pure state machine. Pipelined, all groups go in
 * one write (RFC 2920 allows RSET anywhere in a group); in lock step each command waits for its reply.
 *
 * Attribution: replies carry no address, only their order. A server that answers once too often would shift every later
 * reply. So no result counts before the RSET behind it was answered 2xx, with a positive MAIL before each positive RCPT: a
 * refusal that slipped by one lands on RSET and reveals the shift. (Three extra replies, all positive and in time, would
 * pass; no known server does that.) Read ends after `done`, or by `abandon` when the session broke: then nothing of a
 * pipelined write counts, and it is repeated in lock step.
 */
export class Batch {
  readonly transactions: readonly SmtpTransaction[];
  /** Some mailbox is not ASCII. */
  readonly utf8: boolean;
  readonly #pipelined: boolean;
  readonly #ends: (TransactionEnd | undefined)[];
  #current = 0;
  #step = MAIL;
  #next = "";
  #refusedReset: SmtpReply | null = null;
  /** Progress when the first late reply came. */
  progressWhenLate: BatchProgress | null = null;

  /** @param transactions at least one; without pipelining exactly one. */
  constructor(transactions: readonly SmtpTransaction[], from: ReversePath, pipelined: boolean) {
    this.transactions = transactions;
    this.#pipelined = pipelined;
    // Allocated at its final length: V8 gives a growing array room for sixteen more elements.
    this.#ends = new Array(transactions.length).fill(undefined);
    let utf8 = false;
    for (const { mailbox } of transactions) {
      utf8 ||= mailbox.utf8;
      this.#next += pipelined ? transactionCommands(from, mailbox) : mailFrom(from, mailbox.utf8);
    }
    this.utf8 = utf8;
  }

  /** The next bytes to write. */
  get next(): string {
    return this.#next;
  }

  /** Stage of the current transaction. */
  get stage(): "mail" | "rcpt" {
    return this.#step === MAIL ? "mail" : "rcpt";
  }

  /** After `done`: one end per transaction, in order. */
  get ends(): readonly TransactionEnd[] {
    const ends = this.#ends;
    for (let i = 0; i < ends.length; i++) ends[i] ??= PENDING;
    return ends as TransactionEnd[];
  }

  get progress(): BatchProgress {
    const rejections = this.#ends.slice(0, this.#current).filter((end) => end && isRefusal(end)).length;
    return { transactions: this.#current, rejections, refused: this.#refusedReset };
  }

  /** Notes that the reply about to arrive is late. */
  recordLateReply(): void {
    this.progressWhenLate ??= this.progress;
  }

  accept(reply: SmtpReply): BatchStep {
    if (reply.code === 421) return this.#acceptClosing(reply);
    if (reply.code >= 300 && reply.code < 400) return "out_of_step";
    if (this.#step === MAIL) return this.#mailReply(reply);
    if (this.#step === RCPT) return this.#rcptReply(reply);
    // Some servers refuse an RSET over their limit. In lock step that invalidates no earlier result.
    if (!isAccepted(reply)) {
      this.#refusedReset = reply;
      return this.#pipelined ? "out_of_step" : "closing";
    }
    this.#current++;
    this.#step = MAIL;
    return this.#current === this.transactions.length ? "done" : "await";
  }

  /**
   * The session broke: returns an end for every transaction. Results received in lock step count. Results of a pipelined
   * write do not, unless the write completed: one reply too many or too few shifts all later ones, and only the end of the
   * write reveals it. Exceptions, for a write with one recipient: the server broke off before it answered for the
   * recipient, or hung up after it refused the recipient, as servers often do.
   */
  abandon(end: SessionEnd): readonly TransactionEnd[] {
    const cause = end.kind === "failure" ? end.cause : "closed";
    const detail = end.kind === "failure" ? end.detail : `${end.reply.code}`;
    const unsure = this.#pipelined && !this.#isUnambiguous(cause);
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
      if (index > this.#current) return unanswered;
      return (unsure ? undefined : this.#ends[index]) ?? broken;
    });
  }

  /** A broken pipelined write for one recipient that can be attributed without doubt. */
  #isUnambiguous(cause: FailureCause): boolean {
    if (this.transactions.length > 1) return false;
    const [known] = this.#ends;
    return cause !== "protocol" && (known === undefined || (cause === "closed" && isRefusal(known)));
  }

  #mailReply(reply: SmtpReply): BatchStep {
    this.#step = RCPT;
    if (!isAccepted(reply)) {
      this.#ends[this.#current] = { kind: "reply", stage: "mail", reply };
      return this.#pipelined ? "await" : this.#skipRcpt();
    }
    if (this.#pipelined) return "await";
    const transaction = this.transactions[this.#current];
    if (!transaction) return "out_of_step";
    if (transaction.cancelled()) {
      const detail = "cancelled before RCPT";
      this.#ends[this.#current] = {
        kind: "failure",
        stage: "rcpt",
        cause: "cancelled",
        detail,
        blame: "own",
      };
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

  #rcptReply(reply: SmtpReply): BatchStep {
    const refusedMail = this.#ends[this.#current] !== undefined;
    if (refusedMail && isAccepted(reply)) return "out_of_step";
    if (!refusedMail) this.#ends[this.#current] = toRcptEnd(reply);
    this.#step = STEPS - 1;
    this.#next = RSET;
    return this.#pipelined ? "await" : "write";
  }

  #acceptClosing(reply: SmtpReply): BatchStep {
    if (this.#step !== STEPS - 1) this.#ends[this.#current] ??= { kind: "reply", stage: this.stage, reply };
    return "closing";
  }
}

function isRefusal(end: TransactionEnd): boolean {
  return end.kind === "failure" || !isAccepted(end.reply);
}
