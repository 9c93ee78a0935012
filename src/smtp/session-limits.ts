import { LIMITS } from "../core/limits.ts";
import { Ceiling } from "./ceiling.ts";
import { ownWords } from "./own-words.ts";
import type { SitePolicy } from "./policy.ts";
import type { Reply } from "./reply.ts";

/** How far a session had come when its server would have no more of it. Counts are of transactions that were through. */
export interface Meeting {
  transactions: number;
  rejections: number;
  /** Transactions of the write under way. */
  written: number;
  /** `rejections`, `transactions`: the server named what it counts. `slow`: it went on, but answers late. */
  says: "rejections" | "transactions" | "slow" | null;
}

/** What one session may do. */
export interface Allowance {
  transactions: number;
  rejections: number;
}

const NO_TRIES: Allowance = { transactions: 0, rejections: 0 };

/** `421 4.7.0 mx.example.com Error: too many errors`, `421 Too many invalid recipients in this session`. */
const REJECTIONS =
  /\btoo many(?: \w+){0,3} (?:errors?|failures|rejections|rejected|(?:invalid|unknown|bad|nonexistent|non-existent|failed|unrecognized)(?: \w+){0,2} (?:recipients|users|addresses|commands|rcpts))\b/i;
/** `421 4.7.0 Too many messages in this session`, `421 Maximum number of messages per connection reached`; `554 Too many nonmail commands` (Exim, to a RSET). */
const TRANSACTIONS =
  /\b(?:messages?|mails?|emails|transactions?|recipients?|rcpts) (?:per|in this|in one|for this|on this) (?:smtp )?(?:session|connection)\b|\btoo many non-?mail commands\b/i;

/** `452 4.5.3 Too many recipients`: a limit of the session, no answer about the mailbox. */
export function isRecipientLimit(reply: Reply): boolean {
  return reply.enhanced === "4.5.3" || reply.enhanced === "5.5.3";
}

/** What a server that ends a session, or refuses its RSET, says it counts. */
export function limitNamed(reply: Reply): Meeting["says"] {
  const text = ownWords(reply);
  if (REJECTIONS.test(text)) return "rejections";
  return TRANSACTIONS.test(text) ? "transactions" : null;
}

/** Of what a write may hold: with so few refusals left a session goes on in dribs. */
const WORN_SHARE = 1 / 4;

/** So many round trips of a beginning, for each address that was served for a refusal, another session is still worth; see `isDear`. */
const WORTH = 3;

/**
 * Whether a session's beginning took so long that it is used up to its last refusal, though its writes become small. The more
 * are refused, the less another one brings: by all courses that a session of 100 transactions in writes of ten can take it is even at 31
 * round trips of set-up where 10 % are refused, at 16 of 20 %, 11 of 30 %, 6.6 of 50 %.
 * @param setUp in the same unit as `roundTrip`
 */
export function isDear(setUp: number, roundTrip: number, served: number, rejections: number): boolean {
  return setUp * rejections > WORTH * served * roundTrip;
}

/**
 * Whether another session carries more than what is left of this one: no write may hold more than may still be refused. With the
 * shipped limits and 10 % refused a session is 76 addresses in 23 writes to its end, and 60 in 12 until it is worn: with the
 * round trips that open and close it a quarter fewer for each address. One at a time a session is never worn.
 * @param rejections so far
 * @param depth transactions of a write, at best
 */
export function isWorn(rejections: number, rejectionsPerSession: number, depth: number): boolean {
  if (rejections === 0) return false;
  return rejectionsPerSession - rejections <= WORN_SHARE * Math.min(depth, rejectionsPerSession);
}

/**
 * After how many transactions, or rejections, the servers of a site end a session, as its ends have shown.
 *
 * A limit that is named is believed at once. Else two sessions in a row have to end at the same count: what stays the
 * same is what is counted, rejections where all were. Twice at the first transactions of equal writes may be the
 * writes' fault; then a smaller write decides.
 */
export class SessionLimits {
  readonly #transactions = new Ceiling();
  readonly #rejections = new Ceiling();
  #last: Meeting | null = null;
  #lastSlow: Meeting | null = null;

  get isKnown(): boolean {
    return this.#transactions.isKnown || this.#rejections.isKnown;
  }

  /** Transactions that are known to go well. */
  get transactions(): number {
    return this.#transactions.most;
  }

  /** Rejections that are known to go well. */
  get rejections(): number {
    return this.#rejections.most;
  }

  /** For a new session: 0, or, when it is time to try, so many that this one may go a little further. */
  takeTries(now: number): Allowance {
    if (!this.isKnown) return NO_TRIES;
    const [transactions, rejections] = [this.#transactions.take(now), this.#rejections.take(now)];
    return {
      transactions: transactions > this.transactions ? transactions : 0,
      rejections: rejections > this.rejections ? rejections : 0,
    };
  }

  /** A session has done so much, and goes on. */
  bore(transactions: number, rejections: number, policy: SitePolicy, now: number): void {
    this.#transactions.bore(transactions, now);
    this.#rejections.bore(rejections, now);
    if (this.transactions >= policy.transactionsPerSession) this.#transactions.forget();
    if (this.rejections >= policy.rejectionsPerSession) this.#rejections.forget();
  }

  /** @returns whether a limit of the session explains its end. */
  met(meeting: Meeting, now: number): boolean {
    if (meeting.transactions === 0) return false;
    if (meeting.says === "slow") return this.#metSlowness(meeting, now);
    const last = this.#last;
    this.#last = meeting;
    const counted = this.#counted(meeting, last);
    if (counted === "transactions") this.#transactions.lower(meeting.transactions, now);
    else if (counted === "rejections") this.#rejections.lower(meeting.rejections, now);
    return counted !== null;
  }

  /**
   * Answers that become late by rejections: a tarpit begins. Only the same count twice makes it one, and none of the
   * first, which are late where a server asks another one about each recipient.
   */
  #metSlowness(meeting: Meeting, now: number): boolean {
    const last = this.#lastSlow;
    this.#lastSlow = meeting;
    if (meeting.rejections < LIMITS.learnt.slowFromRejections) return false;
    const again = last?.rejections === meeting.rejections || this.#rejections.most === meeting.rejections;
    if (again) this.#rejections.lower(meeting.rejections, now);
    return again;
  }

  #counted(meeting: Meeting, last: Meeting | null): "transactions" | "rejections" | null {
    const { transactions, rejections, says } = meeting;
    if (says === "rejections" && rejections > 0) return "rejections";
    if (says === "transactions") return "transactions";
    if (transactions === this.#transactions.most) return "transactions";
    if (rejections > 0 && rejections === this.#rejections.most) return "rejections";
    if (last === null || (meeting.written > 1 && meeting.written === last.written)) return null;
    const sameTransactions = transactions === last.transactions;
    const sameRejections = rejections > 0 && rejections === last.rejections;
    if (sameRejections && (!sameTransactions || rejections === transactions)) return "rejections";
    return sameTransactions ? "transactions" : null;
  }
}
