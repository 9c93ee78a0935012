import { LIMITS } from "../../config/limits/limits.ts";
import type { DefaultMtaLimits } from "../wire/mta.ts";
import type { SitePolicy } from "../wire/policy.ts";
import type { SmtpReply } from "../wire/reply.ts";
import { extractServerText } from "../wire/server-text.ts";
import { LearnedLimit } from "./learned-limit.ts";

/** Progress of a session when its server ended or slowed it. Counts are of finished transactions. */
export interface LimitHit {
  transactions: number;
  rejections: number;
  /** Transactions of the current write. */
  written: number;
  /** `rejections`, `transactions`: the server named the limited count. `slow`: the session goes on, but replies are late. */
  reason: "rejections" | "transactions" | "slow" | null;
}

/** Maximum counts of one session. */
export interface SessionAllowance {
  transactions: number;
  rejections: number;
}

const NO_TRIAL: SessionAllowance = { transactions: 0, rejections: 0 };

/** `421 4.7.0 mx.example.com Error: too many errors`, `421 Too many invalid recipients in this session`. */
const REJECTION_LIMIT_TEXT =
  /\btoo many(?: \w+){0,3} (?:errors?|failures|rejections|rejected|(?:invalid|unknown|bad|nonexistent|non-existent|failed|unrecognized)(?: \w+){0,2} (?:recipients|users|addresses|commands|rcpts))\b/i;
/** `421 4.7.0 Too many messages in this session`, `421 Maximum number of messages per connection reached`; `554 Too many nonmail commands` (Exim, to a RSET). */
const TRANSACTION_LIMIT_TEXT =
  /\b(?:messages?|mails?|emails|transactions?|recipients?|rcpts) (?:per|in this|in one|for this|on this) (?:smtp )?(?:session|connection)\b|\btoo many non-?mail commands\b/i;

/** `452 4.5.3 Too many recipients`: a session limit, not an answer about the mailbox. */
export function isRecipientLimit(reply: SmtpReply): boolean {
  return reply.enhanced === "4.5.3" || reply.enhanced === "5.5.3";
}

/** The limited count, as a reply names it that ends the session or refuses RSET. */
export function parseNamedLimit(reply: SmtpReply): LimitHit["reason"] {
  const text = extractServerText(reply);
  if (REJECTION_LIMIT_TEXT.test(text)) return "rejections";
  return TRANSACTION_LIMIT_TEXT.test(text) ? "transactions" : null;
}

/** Maximum transactions of a session, whatever its server allows. */
export function maxTransactionsOf({ transactionsPerSession }: SitePolicy): number {
  return transactionsPerSession ?? LIMITS.learned.sessionTransactionsMax;
}

/** Maximum rejections of a session, whatever its server allows. */
export function maxRejectionsOf({ rejectionsPerSession }: SitePolicy): number {
  return rejectionsPerSession ?? LIMITS.learned.sessionRejectionsMax;
}

/** A firm limit overrides what servers of other software at the same site have shown. */
function startLimit(ceiling: LearnedLimit, most: number, firm: boolean, now: number): void {
  if (most === Number.POSITIVE_INFINITY) return;
  if (!ceiling.isKnown || (firm && most < ceiling.safeMax)) ceiling.startAt(most, firm, now);
}

/** More than the known amount, when a trial is due; else 0. An eager limit is not tried before a session reaches it. */
function trialMax(ceiling: LearnedLimit, now: number): number {
  const most = ceiling.isEager ? 0 : ceiling.take(now);
  return most > ceiling.safeMax ? most : 0;
}

function extendedMax(ceiling: LearnedLimit, done: number, room: number, now: number): number {
  if (!ceiling.isEager || ceiling.safeMax - done >= room) return 0;
  const most = ceiling.take(now);
  return most > ceiling.safeMax ? most : 0;
}

/** Share of a write: with fewer rejections left a session continues in small writes. */
const EXHAUSTED_SHARE = 1 / 4;

/** Round trips of set-up, per address served for each rejection, that a new session is worth; see `isSetUpExpensive`. */
const ROUND_TRIPS_PER_REFUSAL = 3;

/**
 * True when session set-up is so slow that a session should be used to its last allowed rejection, though its writes become
 * small. The more rejections, the less a new session helps. Averaged over all courses of a session of 100 transactions in
 * writes of ten, the break-even is at these round trips of set-up: 31 with 10 % rejections, 16 with 20 %, 11 with 30 %, 6.6
 * with 50 %.
 * @param setUp in the same unit as `roundTrip`
 */
export function isSetUpExpensive(
  setUp: number,
  roundTrip: number,
  served: number,
  rejections: number,
): boolean {
  return setUp * rejections > ROUND_TRIPS_PER_REFUSAL * served * roundTrip;
}

/**
 * True when a new session carries more than the rest of this one: a write must not have more transactions than may still be
 * rejected. With the shipped limits and 10 % rejections a session does 76 addresses in 23 writes to its end, and 60 in 12
 * until it is nearly exhausted. With the round trips to open and close it, that is a quarter fewer for each address. At
 * depth 1 a session is never nearly exhausted.
 * @param rejections so far
 * @param depth transactions of a write, at best
 */
export function isNearlyExhausted(rejections: number, rejectionsPerSession: number, depth: number): boolean {
  if (rejections === 0) return false;
  return rejectionsPerSession - rejections <= EXHAUSTED_SHARE * Math.min(depth, rejectionsPerSession);
}

/**
 * The number of transactions, and of rejections, that the servers of a site allow a session. Without a figure in the
 * policy, a site starts with those of its server software (`DefaultMtaLimits`).
 *
 * Beyond figures that are not firm, one session continues, up to twice the count that has worked. Once it has doubled the
 * start, all sessions may: a server of unknown software may enforce its limit in each session in progress, and in no later
 * one.
 *
 * A named limit counts at once. Otherwise two sessions in a row must end at the same count: the constant count is the
 * limited one, rejections if all were rejected. Two ends at the first transactions of equal writes may be caused by the
 * writes; then a smaller write decides.
 */
export class SessionLimits {
  readonly #transactions = new LearnedLimit();
  readonly #rejections = new LearnedLimit();
  #defaults: DefaultMtaLimits | null = null;
  #hasHitLimit = false;
  #hasGrown = false;
  #lastHit: LimitHit | null = null;
  #lastSlowHit: LimitHit | null = null;

  get isKnown(): boolean {
    return this.#transactions.isKnown || this.#rejections.isKnown;
  }

  /** True once a server has ended or slowed down a session because of its counts. */
  get hasHitLimit(): boolean {
    return this.#hasHitLimit;
  }

  /** The limits exceed the start of such sites. */
  get isWorthKeeping(): boolean {
    return this.#hasHitLimit || this.#hasGrown;
  }

  /** A session starts with a server of that software. @param defaults one object for each software */
  onGreeted(defaults: DefaultMtaLimits, policy: SitePolicy, now: number): void {
    if (this.#defaults === defaults) return;
    this.#defaults = defaults;
    const { transactions, rejections, firm } = defaults;
    if (policy.transactionsPerSession === null) startLimit(this.#transactions, transactions, firm, now);
    if (policy.rejectionsPerSession === null) startLimit(this.#rejections, rejections, firm, now);
  }

  /** The new maximum counts of a session without trouble that has less than `room` left; 0: it may not go further. */
  extend(served: number, rejected: number, room: number, now: number): SessionAllowance {
    return {
      transactions: extendedMax(this.#transactions, served, room, now),
      rejections: extendedMax(this.#rejections, rejected, room, now),
    };
  }

  /** Transactions known to work. */
  get transactions(): number {
    return this.#transactions.safeMax;
  }

  /** Rejections known to work. */
  get rejections(): number {
    return this.#rejections.safeMax;
  }

  /** Limits for a new session: 0, or, when a trial is due, the count to which it may go further. */
  takeTrialAllowance(now: number): SessionAllowance {
    if (!this.isKnown) return NO_TRIAL;
    return { transactions: trialMax(this.#transactions, now), rejections: trialMax(this.#rejections, now) };
  }

  /** A session has finished this many transactions, and continues. */
  recordSuccess(transactions: number, rejections: number, policy: SitePolicy, now: number): void {
    const isMore = transactions > this.transactions || rejections > this.rejections;
    if (isMore) this.#hasGrown = true;
    this.#transactions.recordSuccess(transactions, now);
    this.#rejections.recordSuccess(rejections, now);
    if (this.transactions >= maxTransactionsOf(policy)) this.#transactions.forget();
    if (this.rejections >= maxRejectionsOf(policy)) this.#rejections.forget();
  }

  /** @returns whether a session limit explains its end */
  recordHit(hit: LimitHit, now: number): boolean {
    if (hit.transactions === 0) return false;
    if (hit.reason === "slow") return this.#recordSlowness(hit, now);
    const last = this.#lastHit;
    this.#lastHit = hit;
    const counted = this.#countedBy(hit, last);
    if (counted === "transactions") this.#transactions.lower(hit.transactions, now);
    else if (counted === "rejections") this.#rejections.lower(this.#safeRejections(hit), now);
    const isExplained = counted !== null || this.#hitBeyondKnown(hit, now);
    if (isExplained) this.#hasHitLimit = true;
    return isExplained;
  }

  /**
   * A server that hangs up for errors slows down earlier, Postfix at half the count. One session that went far ahead did
   * not see that.
   */
  #safeRejections({ reason: says, rejections }: LimitHit): number {
    return says === "rejections" && this.#rejections.isEager ? rejections >> 1 : rejections;
  }

  /** Further than any session before: one such end is enough. */
  #hitBeyondKnown({ transactions, rejections }: LimitHit, now: number): boolean {
    const isOverTransactions = transactions >= this.transactions;
    const isOverRejections = rejections >= this.rejections;
    if (isOverTransactions) this.#transactions.lower(this.transactions, now);
    if (isOverRejections) this.#rejections.lower(this.rejections, now);
    return isOverTransactions || isOverRejections;
  }

  /**
   * Replies become late because of rejections: a tarpit starts. Only the same count twice makes it one. Late first replies
   * do not count: they are late where a server asks another server about each recipient.
   */
  #recordSlowness(meeting: LimitHit, now: number): boolean {
    const last = this.#lastSlowHit;
    this.#lastSlowHit = meeting;
    if (meeting.rejections < LIMITS.learned.slowFromRejections) return false;
    if (meeting.rejections > this.rejections) {
      this.#hasHitLimit = true;
      this.#rejections.lower(this.rejections, now);
      return true;
    }
    const again = last?.rejections === meeting.rejections || this.rejections === meeting.rejections;
    if (again) this.#hasHitLimit = true;
    if (again) this.#rejections.lower(meeting.rejections, now);
    return again;
  }

  #countedBy(meeting: LimitHit, last: LimitHit | null): "transactions" | "rejections" | null {
    const { transactions, rejections, reason: says } = meeting;
    if (says === "rejections" && rejections > 0) return "rejections";
    if (says === "transactions") return "transactions";
    if (transactions === this.#transactions.safeMax) return "transactions";
    if (rejections > 0 && rejections === this.#rejections.safeMax) return "rejections";
    if (last === null || (meeting.written > 1 && meeting.written === last.written)) return null;
    const sameTransactions = transactions === last.transactions;
    const sameRejections = rejections > 0 && rejections === last.rejections;
    if (sameRejections && (!sameTransactions || rejections === transactions)) return "rejections";
    return sameTransactions ? "transactions" : null;
  }
}
