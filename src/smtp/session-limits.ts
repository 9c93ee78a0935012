import { LIMITS } from "../core/limits.ts";
import { Ceiling } from "./ceiling.ts";
import type { StockLimits } from "./mta.ts";
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

/** Most transactions of a session, whatever its server allows. */
export function transactionsOf({ transactionsPerSession }: SitePolicy): number {
  return transactionsPerSession ?? LIMITS.learnt.sessionTransactionsMax;
}

/** Most rejections of a session, whatever its server allows. */
export function rejectionsOf({ rejectionsPerSession }: SitePolicy): number {
  return rejectionsPerSession ?? LIMITS.learnt.sessionRejectionsMax;
}

/** A firm limit goes before what servers of other software at the same site may have shown. */
function begin(ceiling: Ceiling, most: number, firm: boolean, now: number): void {
  if (most === Number.POSITIVE_INFINITY) return;
  if (!ceiling.isKnown || (firm && most < ceiling.most)) ceiling.begin(most, firm, now);
}

/** More than is known to go well, where it is time to try; else 0. An eager one is not tried before a session comes to it. */
function tried(ceiling: Ceiling, now: number): number {
  const most = ceiling.isEager ? 0 : ceiling.take(now);
  return most > ceiling.most ? most : 0;
}

function extended(ceiling: Ceiling, done: number, room: number, now: number): number {
  if (!ceiling.isEager || ceiling.most - done >= room) return 0;
  const most = ceiling.take(now);
  return most > ceiling.most ? most : 0;
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
 * How many transactions, and rejections, the servers of a site allow a session.
 *
 * Where the policy gives no figure, a site begins with those of the software that its servers show (`StockLimits`). Beyond figures that
 * are no firm limits one session goes on, up to twice as far as has gone well. Once it has doubled the start, all sessions may: a
 * server of unknown software can show its limit to each session under way, and to no later one.
 *
 * A limit that is named is believed at once. Else two sessions in a row have to end at the same count: what stays the
 * same is what is counted, rejections where all were. Twice at the first transactions of equal writes may be the
 * writes' fault; then a smaller write decides.
 */
export class SessionLimits {
  readonly #transactions = new Ceiling();
  readonly #rejections = new Ceiling();
  #stock: StockLimits | null = null;
  #isTaught = false;
  #hasGrown = false;
  #last: Meeting | null = null;
  #lastSlow: Meeting | null = null;

  get isKnown(): boolean {
    return this.#transactions.isKnown || this.#rejections.isKnown;
  }

  /** A server has ended, or slowed down, a session for what it had done. */
  get isTaught(): boolean {
    return this.#isTaught;
  }

  /** It is more than where such sites begin. */
  get isWorthKeeping(): boolean {
    return this.#isTaught || this.#hasGrown;
  }

  /** A session begins with a server of that software. @param stock one object for each */
  greeted(stock: StockLimits, policy: SitePolicy, now: number): void {
    if (this.#stock === stock) return;
    this.#stock = stock;
    const { transactions, rejections, firm } = stock;
    if (policy.transactionsPerSession === null) begin(this.#transactions, transactions, firm, now);
    if (policy.rejectionsPerSession === null) begin(this.#rejections, rejections, firm, now);
  }

  /** For a session that has come so far, with no trouble, and has less than `room` left: how far it may go on; 0: no further. */
  extend(served: number, rejected: number, room: number, now: number): Allowance {
    return {
      transactions: extended(this.#transactions, served, room, now),
      rejections: extended(this.#rejections, rejected, room, now),
    };
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
    return { transactions: tried(this.#transactions, now), rejections: tried(this.#rejections, now) };
  }

  /** A session has done so much, and goes on. */
  bore(transactions: number, rejections: number, policy: SitePolicy, now: number): void {
    const isMore = transactions > this.transactions || rejections > this.rejections;
    if (isMore) this.#hasGrown = true;
    this.#transactions.bore(transactions, now);
    this.#rejections.bore(rejections, now);
    if (this.transactions >= transactionsOf(policy)) this.#transactions.forget();
    if (this.rejections >= rejectionsOf(policy)) this.#rejections.forget();
  }

  /** @returns whether a limit of the session explains its end. */
  met(meeting: Meeting, now: number): boolean {
    if (meeting.transactions === 0) return false;
    if (meeting.says === "slow") return this.#metSlowness(meeting, now);
    const last = this.#last;
    this.#last = meeting;
    const counted = this.#counted(meeting, last);
    if (counted === "transactions") this.#transactions.lower(meeting.transactions, now);
    else if (counted === "rejections") this.#rejections.lower(this.#borne(meeting), now);
    const isExplained = counted !== null || this.#metBeyond(meeting, now);
    if (isExplained) this.#isTaught = true;
    return isExplained;
  }

  /** A server that hangs up for errors slows down before, Postfix at half as many: one session that went far ahead did not see that. */
  #borne({ says, rejections }: Meeting): number {
    return says === "rejections" && this.#rejections.isEager ? rejections >> 1 : rejections;
  }

  /** Further than any session had come: no second one need end for that. */
  #metBeyond({ transactions, rejections }: Meeting, now: number): boolean {
    const isOverTransactions = transactions >= this.transactions;
    const isOverRejections = rejections >= this.rejections;
    if (isOverTransactions) this.#transactions.lower(this.transactions, now);
    if (isOverRejections) this.#rejections.lower(this.rejections, now);
    return isOverTransactions || isOverRejections;
  }

  /**
   * Answers that become late by rejections: a tarpit begins. Only the same count twice makes it one, and none of the
   * first, which are late where a server asks another one about each recipient.
   */
  #metSlowness(meeting: Meeting, now: number): boolean {
    const last = this.#lastSlow;
    this.#lastSlow = meeting;
    if (meeting.rejections < LIMITS.learnt.slowFromRejections) return false;
    if (meeting.rejections > this.rejections) {
      this.#isTaught = true;
      this.#rejections.lower(this.rejections, now);
      return true;
    }
    const again = last?.rejections === meeting.rejections || this.rejections === meeting.rejections;
    if (again) this.#isTaught = true;
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
