import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { LeasedCounter, type LeaseStore } from "../../platform/leasing/leased-counter.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { type Rate, type RateClass, type RateSettings, REQUEST_NAMES } from "./classes.ts";
import type { BucketGrant, BucketRequest } from "./redis-buckets.ts";

/** A token needs no handle: undefined is one that was taken. */
export type Token = undefined;

/** Tokens leased in advance, from when the bucket was asked for them. */
interface TokenLease {
  left: number;
  endsAtMs: number;
}

/** A lease that ends within this is returned rather than lost. */
const RETURN_BEFORE_END_MS = LIMITS.rate.leaseTtlMs / 2;

/**
 * From when it was asked for, a lease that is in use is renewed after this: what is left of it goes back at the half of its
 * time, and the next one has to be there by then. Without it all that a busy team asked just then waited for Redis.
 */
const RENEW_AFTER_MS = 0.3 * LIMITS.rate.leaseTtlMs;

/** Reported later than this, the use of tokens that Redis has forgotten might count as another process's. */
const REPORT_WITHIN_MS = LIMITS.rate.leaseTtlMs / 2;

/** One team's bucket in this process: leased tokens, refusals, and what Redis said last. */
export class SharedBucket extends LeasedCounter<Token> {
  /** Leased tokens that were used and not reported to Redis yet. */
  #used = 0;
  /** Whole milliseconds. */
  #lastTakenAtMs = 0;
  #tokensInRedis: number;
  /** Whole milliseconds, hence late by less than one: no refill is counted that was not. */
  #answeredAtMs = 0;
  ratePerS: number;
  burst: number;
  readonly key: string;
  readonly rateClass: RateClass;
  /** Those that rate and burst come from; compared by identity. */
  limits: RateSettings | null = null;
  /** When rate and burst were read, monotonic. */
  limitsAsOfMs = Number.NEGATIVE_INFINITY;
  /** Monotonic. Until then Redis has no token: a request without a leased one is refused without asking. */
  refusedUntilMs = Number.NEGATIVE_INFINITY;
  /**
   * Monotonic. While Redis is away only this process knows that tokens are missing; from then on its own bucket is full, and this
   * object may be forgotten.
   */
  localFullAtMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "monotonic">;
  #refusal: AppError | null = null;
  /** In the order of their ends. Few: `leased` goes through them several times a request. */
  #leases: TokenLease[] = [];
  #newestLeaseTokens = 0;
  /** When the newest lease is to be renewed; Infinity: there is none. */
  #renewAtMs = Number.POSITIVE_INFINITY;
  /** The last grant did not suffice for the waiting requests. */
  #wasShort = false;

  constructor(store: LeaseStore<SharedBucket, Token>, key: string, rate: Rate, rateClass: RateClass) {
    super(store);
    this.#clock = store.clock;
    this.key = key;
    this.rateClass = rateClass;
    this.ratePerS = rate.ratePerS;
    this.burst = rate.burst;
    this.#tokensInRedis = rate.burst;
  }

  takeLeased(nowMs: number): Token | null {
    let lease = this.#leases[0];
    while (lease !== undefined && (lease.left === 0 || nowMs >= lease.endsAtMs)) {
      this.#leases.shift();
      lease = this.#leases[0];
    }
    if (lease === undefined) return null;
    lease.left -= 1;
    this.#used += 1;
    this.#lastTakenAtMs = Math.floor(nowMs);
    return undefined;
  }

  get isIdle(): boolean {
    const isUnused = this.#leases.length === 0 && this.#used === 0 && !this.isAwaited;
    return isUnused && this.#clock.monotonic() >= this.localFullAtMs;
  }

  /** Half of the last lease is used, or it is old. */
  wantsMore(nowMs: number): boolean {
    if (this.#newestLeaseTokens <= 1 || nowMs < this.refusedUntilMs) return false;
    return nowMs >= this.#renewAtMs || this.leased(nowMs) * 2 < this.#newestLeaseTokens;
  }

  /** Tokens that may be taken without asking. */
  leased(nowMs: number): number {
    let left = 0;
    for (const lease of this.#leases) if (nowMs < lease.endsAtMs) left += lease.left;
    return left;
  }

  /** A request for tokens: for waiting requests, and in advance as many as go in a moment at the present rate. */
  nextRequest(nowMs: number): BucketRequest {
    const { leaseMax, leaseSpanMs, leaseShare } = LIMITS.rate;
    const ofRate = Math.floor((this.ratePerS * leaseSpanMs) / 1000);
    const most = Math.max(1, Math.min(leaseMax, ofRate, Math.floor(this.burst / leaseShare)));
    const isRenewal = this.waiting === 0 && this.#isOldButUnspent(nowMs);
    if (isRenewal && this.#used * 4 < this.size) this.halveSize();
    const want = this.nextSize(nowMs, most, isRenewal);
    return this.#request(Math.max(want, this.waiting), this.waiting, 0);
  }

  /** The last lease was enough for its time: as large a one will be again, half of it where hardly any was used. */
  #isOldButUnspent(nowMs: number): boolean {
    return nowMs >= this.#renewAtMs && this.leased(nowMs) * 2 >= this.#newestLeaseTokens;
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
    if (back > 0) return this.#request(0, 0, back);
    if (nowMs - this.#lastTakenAtMs >= REPORT_WITHIN_MS) this.#used = 0;
    return null;
  }

  #request(want: number, waiting: number, back: number): BucketRequest {
    const used = this.#used;
    this.#used = 0;
    return { ratePerS: this.ratePerS, burst: this.burst, want, waiting, back, used };
  }

  onAnswer(request: BucketRequest, grant: BucketGrant, sentAtMs: number, nowMs: number): void {
    this.#tokensInRedis = grant.left;
    this.#answeredAtMs = Math.ceil(nowMs);
    if (request.want === 0) return;
    const advance = Math.max(0, grant.granted - request.waiting);
    this.#newestLeaseTokens = advance;
    if (advance > 0) this.#leases.push({ left: advance, endsAtMs: sentAtMs + LIMITS.rate.leaseTtlMs });
    this.#renewAtMs = advance > 0 ? sentAtMs + RENEW_AFTER_MS : Number.POSITIVE_INFINITY;
    // While Redis is away none is granted ahead of need, and nothing follows from that.
    this.#wasShort = grant.nextMs > 0 && grant.granted < Math.max(1, request.waiting);
    if (this.#wasShort) this.refusedUntilMs = nowMs + Math.min(LIMITS.rate.refusalMaxMs, grant.nextMs);
    this.resolveWaiters(Math.min(grant.granted, request.waiting), undefined);
  }

  /** The refusal that is certain without a call to Redis. */
  refusal(nowMs: number): AppError | null {
    const waitMs = this.refusedUntilMs - nowMs;
    if (waitMs <= 0 && !this.#isExhausted(nowMs)) return null;
    return this.rateLimited(waitMs);
  }

  /**
   * A moment ago Redis had fewer tokens than were asked for, and the requests that wait take all that has come since: one
   * more would wait in vain. What another process brings back is not counted on.
   */
  #isExhausted(nowMs: number): boolean {
    const isNews = nowMs - this.#answeredAtMs < LIMITS.rate.newsMs;
    return this.#wasShort && isNews && this.waiting > 0 && this.remaining(nowMs) === 0;
  }

  /** The error of a refusal, reused while its text is the same: each costs a stack, and they come by the thousand. */
  rateLimited(waitMs: number): AppError {
    const requests = REQUEST_NAMES[this.rateClass];
    const message = `The rate of ${this.ratePerS} ${requests} a second (${this.burst} at once) is exceeded.`;
    const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
    const before = this.#refusal;
    if (before?.retryAfterS === retryAfterS && before.message === message) return before;
    this.#refusal = new AppError("rate_limited", message, { retryAfterS });
    return this.#refusal;
  }

  /** Tokens left as far as this process can tell. */
  remaining(nowMs: number): number {
    if (nowMs < this.refusedUntilMs) return 0;
    const left = Math.floor(this.unleased(nowMs) + this.leased(nowMs));
    return this.#wasShort ? Math.max(0, left - this.waiting) : left;
  }

  /** Tokens in the bucket that are not leased here, as far as this process can tell. Not necessarily whole. */
  unleased(nowMs: number): number {
    const refilled = (Math.max(0, nowMs - this.#answeredAtMs) * this.ratePerS) / 1000;
    return Math.min(this.#tokensInRedis + refilled, this.burst - this.leased(nowMs));
  }
}
