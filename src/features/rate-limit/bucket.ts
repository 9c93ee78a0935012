import { LIMITS } from "../../config/limits/limits.ts";
import type { Rate, RateClass, RateSettings } from "./classes.ts";
import type { BucketGrant, BucketRequest } from "./rate-bucket.ts";

/** Tokens leased in advance, from when the bucket was asked for them. */
interface TokenLease {
  left: number;
  endsAtMs: number;
}

export interface TokenWaiter {
  resolve(): void;
  reject(error: unknown): void;
}

/** A lease that ends within this is returned rather than lost. */
const RETURN_BEFORE_END_MS = LIMITS.rate.leaseTtlMs / 2;

/**
 * From when it was asked for, a lease that is in use is renewed after this: what is left of it goes back at the half of its
 * time, and the next one has to be there by then. Without it all that a busy team asked just then waited for Redis.
 */
const RENEW_AFTER_MS = 0.3 * LIMITS.rate.leaseTtlMs;

/** Reported later than this, the use of tokens that Redis has forgotten might count as another process's. */
const TELL_WITHIN_MS = LIMITS.rate.leaseTtlMs / 2;

/** One team's bucket in this process: leased tokens, waiting requests, refusals. No I/O. */
export class SharedBucket {
  /** Tokens left of the leases. Asked for several times a request. */
  #ahead = 0;
  /** Leased tokens that were used and not reported to Redis yet. */
  #used = 0;
  /** Whole. */
  #takenAtMs = 0;
  #leftSeen: number;
  /** Whole, hence later by less than a millisecond: no refill is counted that was not. */
  #seenAtMs = 0;
  ratePerS: number;
  burst: number;
  /** The process has forgotten it: the team's next request gets another. */
  isForgotten = false;
  /** When the first of the leases ends: `#ahead` is counted again then. */
  #aheadUntilMs = Number.NEGATIVE_INFINITY;
  readonly key: string;
  readonly rateClass: RateClass;
  /** Those that rate and burst were read from last. */
  limits: RateSettings | null = null;
  /** When rate and burst were read, monotonic. */
  limitsAsOfMs = Number.NEGATIVE_INFINITY;
  waiters: TokenWaiter[] = [];
  /** While Redis is away: what this process gives out by itself; null: nothing yet, or the bucket was full again. */
  local: LocalBucket | null = null;
  /** Redis is being asked for tokens. */
  serving = false;
  refusedUntilMs = Number.NEGATIVE_INFINITY;
  #leases: TokenLease[] = [];
  #want = 1;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #lastAdvance = 0;
  /** When the newest lease is to be renewed; Infinity: there is none. */
  #renewAtMs = Number.POSITIVE_INFINITY;
  /** The last grant did not suffice for the waiting requests. */
  #wasShort = false;

  constructor(key: string, { ratePerS, burst }: Rate, rateClass: RateClass) {
    this.key = key;
    this.rateClass = rateClass;
    this.ratePerS = ratePerS;
    this.burst = burst;
    this.#leftSeen = burst;
  }

  take(nowMs: number): boolean {
    const lease = this.#usable(nowMs);
    if (lease === undefined) return false;
    lease.left -= 1;
    this.#ahead -= 1;
    this.#used += 1;
    this.#takenAtMs = Math.floor(nowMs);
    return true;
  }

  #usable(nowMs: number): TokenLease | undefined {
    for (const lease of this.#leases) if (lease.left > 0 && nowMs < lease.endsAtMs) return lease;
    return undefined;
  }

  get isIdle(): boolean {
    const isAsked = this.serving || this.waiters.length > 0;
    return this.#leases.length === 0 && this.#used === 0 && !isAsked && this.local === null;
  }

  /** Half of the last lease is used, or it is old. */
  wantsPrefetch(nowMs: number): boolean {
    if (this.#lastAdvance <= 1 || nowMs < this.refusedUntilMs) return false;
    return nowMs >= this.#renewAtMs || this.leased(nowMs) * 2 < this.#lastAdvance;
  }

  /** Tokens that may be taken without asking. */
  leased(nowMs: number): number {
    if (nowMs >= this.#aheadUntilMs) this.countAhead(nowMs);
    return this.#ahead;
  }

  private countAhead(nowMs: number): void {
    this.#ahead = 0;
    this.#aheadUntilMs = Number.POSITIVE_INFINITY;
    for (const { left, endsAtMs } of this.#leases) {
      if (nowMs >= endsAtMs) continue;
      this.#ahead += left;
      this.#aheadUntilMs = Math.min(this.#aheadUntilMs, endsAtMs);
    }
  }

  /** A request for tokens: for waiting requests, and in advance as many as go in a moment at the present rate. */
  nextRequest(nowMs: number): BucketRequest {
    const { leaseMax, leaseSpanMs, leaseShare } = LIMITS.rate;
    const ofRate = Math.floor((this.ratePerS * leaseSpanMs) / 1000);
    const most = Math.max(1, Math.min(leaseMax, ofRate, Math.floor(this.burst / leaseShare)));
    const waiting = this.waiters.length;
    this.#want = Math.min(
      most,
      waiting === 0 && this.#isRenewal(nowMs) ? this.#lasting() : this.#moving(nowMs),
    );
    this.#askedAtMs = nowMs;
    return this.#request(Math.max(this.#want, waiting), waiting, 0);
  }

  /** Asked because the last lease is old, not because it is used up. */
  #isRenewal(nowMs: number): boolean {
    return nowMs >= this.#renewAtMs && this.leased(nowMs) * 2 >= this.#lastAdvance;
  }

  /** As many as last time, which were enough; half of them where hardly any was used. */
  #lasting(): number {
    return this.#used * 4 < this.#want ? Math.max(1, this.#want >> 1) : this.#want;
  }

  /** Twice as many where half of the last were gone in no time, half as many where they lasted. */
  #moving(nowMs: number): number {
    const sinceMs = nowMs - this.#askedAtMs;
    if (sinceMs < LIMITS.rate.leaseGoneMs) return this.#want * 2;
    return sinceMs > LIMITS.rate.leaseLastedMs ? Math.max(1, this.#want >> 1) : this.#want;
  }

  /**
   * Brings back what will not be used in time, or `all`; null when that is nothing. Used tokens are reported with the next
   * request and are worth none of its own. When no request comes soon they are not reported at all: Redis takes them for
   * still out then, which errs on the safe side, and forgets them within two leases' time.
   */
  returnRequest(nowMs: number, all: boolean): BucketRequest | null {
    let back = 0;
    for (const lease of this.#leases) {
      if (nowMs < lease.endsAtMs && (all || lease.endsAtMs - nowMs <= RETURN_BEFORE_END_MS)) {
        back += lease.left;
        lease.left = 0;
      }
    }
    this.#leases = this.#leases.filter((lease) => lease.left > 0 && nowMs < lease.endsAtMs);
    this.countAhead(nowMs);
    if (back > 0) return this.#request(0, 0, back);
    if (nowMs - this.#takenAtMs >= TELL_WITHIN_MS) this.#used = 0;
    return null;
  }

  #request(want: number, waiting: number, back: number): BucketRequest {
    const used = this.#used;
    this.#used = 0;
    return { ratePerS: this.ratePerS, burst: this.burst, want, waiting, back, used };
  }

  /**
   * A moment ago Redis had fewer tokens than were asked for, and the requests that wait take all that has come since: one
   * more would wait in vain. What another process brings back is not counted on.
   */
  isExhausted(nowMs: number): boolean {
    const isNews = nowMs - this.#seenAtMs < LIMITS.rate.newsMs;
    return this.#wasShort && isNews && this.waiters.length > 0 && this.remaining(nowMs) === 0;
  }

  onAnswer(request: BucketRequest, grant: BucketGrant, sentAtMs: number, nowMs: number): void {
    this.#leftSeen = grant.left;
    this.#seenAtMs = Math.ceil(nowMs);
    if (request.want === 0) return;
    const advance = Math.max(0, grant.granted - request.waiting);
    this.#lastAdvance = advance;
    if (advance > 0) this.#leases.push({ left: advance, endsAtMs: sentAtMs + LIMITS.rate.leaseTtlMs });
    this.#renewAtMs = advance > 0 ? sentAtMs + RENEW_AFTER_MS : Number.POSITIVE_INFINITY;
    this.countAhead(nowMs);
    this.#wasShort = grant.granted < Math.max(1, request.waiting);
    if (this.#wasShort) {
      this.refusedUntilMs = nowMs + Math.min(LIMITS.rate.refusalMaxMs, Math.max(1, grant.nextMs));
    }
    for (const waiter of this.waiters.splice(0, Math.min(grant.granted, request.waiting))) waiter.resolve();
  }

  /** Tokens left as far as this process can tell. */
  remaining(nowMs: number): number {
    if (nowMs < this.refusedUntilMs) return 0;
    const left = this.#left(this.leased(nowMs), nowMs);
    return this.#wasShort ? Math.max(0, left - this.waiters.length) : left;
  }

  #left(leased: number, nowMs: number): number {
    const refilled = (Math.max(0, nowMs - this.#seenAtMs) * this.ratePerS) / 1000;
    return Math.floor(Math.min(this.burst, this.#leftSeen + leased + refilled));
  }
}

/** A token bucket of this process alone, for when Redis is away. */
export class LocalBucket {
  #tokens: number;
  #atMs: number;

  constructor(tokens: number, nowMs: number) {
    this.#tokens = tokens;
    this.#atMs = nowMs;
  }

  /** 0 when a token was taken, else the milliseconds until there is one. */
  take(nowMs: number, ratePerS: number, burst: number): number {
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * ratePerS) / 1000);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) * 1000) / ratePerS);
    this.#tokens -= 1;
    return 0;
  }

  remaining(nowMs: number, ratePerS: number, burst: number): number {
    return Math.floor(Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * ratePerS) / 1000));
  }
}
