import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { Actor } from "../identity/actor.ts";
import type { SharedBucket, TokenWaiter } from "./bucket.ts";
import { type BucketQueries, createBucketQueries, isRedisUnavailable } from "./bucket-queries.ts";
import { type RateClass, REQUEST_NAMES, rateOf } from "./classes.ts";
import { createLocalRates, type LocalRates } from "./local-rates.ts";
import type { RateBuckets } from "./rate-bucket.ts";
import { createTeamBuckets } from "./team-buckets.ts";

/**
 * The rates of a team. Each class of requests has a token bucket for live and one for test credentials. They are in Redis,
 * by Redis's clock, shared by all processes. Busy teams' tokens are leased ahead, so that most requests need no call to
 * Redis; a team with a low rate takes them one by one. A refusal is remembered until the next token is due, so that a flood
 * of refused requests costs no call either.
 *
 * Without Redis each process applies the rate alone, by a bucket of its own that starts with the last known tokens. So n
 * processes let at most n times the rate through, rather than nothing. One call in the background decides for the whole
 * process whether Redis is unusable or usable again, so that requests do not wait for a silent Redis. Any other failure is
 * our fault: waiting requests are refused with it, it is logged, and the rates stay shared.
 */
export interface RateLimiter {
  /**
   * Takes one token of the class, at once when one is leased.
   * @throws AppError `rate_limited` with the seconds to the next token; `overloaded` when too many wait.
   */
  take(actor: Actor, rateClass: RateClass): void | Promise<void>;
  /** True when `take` would grant a token for a verification at once. Takes no token. */
  isLeased(actor: Actor, nowMs: number): boolean;
  /**
   * True when some team's requests are refused without a call to Redis, or were a moment ago. One check serves all
   * requests.
   */
  isRefusing(nowMs: number): boolean;
  /** The error with which `take` would refuse a verification at once; null: it would not. Takes no token. */
  refusal(actor: Actor, nowMs: number): AppError | null;
  /** Tokens left as far as this process knows, and whole seconds until there is one more. No I/O. */
  snapshot(actor: Actor, rateClass: RateClass): { remaining: number; resetS: number };
  start(): void;
  /** Gives leased tokens back. Never rejects. */
  drain(): Promise<void>;
}

export interface RateLimiterDeps {
  buckets: RateBuckets;
  clock: Clock;
  log: Logger;
}

/** Thrown by the thousand in an overload: its stack would cost more than all else. */
const TOO_MANY_WAIT = new AppError("overloaded", "Too many requests of the team wait.", { retryAfterS: 1 });

/** The refusal of a bucket, reused while its text is the same: each costs a stack, and they come by the thousand. */
const refusals = new WeakMap<SharedBucket, AppError>();

function rateLimited(bucket: SharedBucket, waitMs: number): AppError {
  const requests = REQUEST_NAMES[bucket.rateClass];
  const message = `The rate of ${bucket.ratePerS} ${requests} a second (${bucket.burst} at once) is exceeded.`;
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
  const before = refusals.get(bucket);
  if (before?.retryAfterS === retryAfterS && before.message === message) return before;
  const refusal = new AppError("rate_limited", message, { retryAfterS });
  refusals.set(bucket, refusal);
  return refusal;
}

/** The state of a bucket from which this process took nothing. */
function fullBucketState({ limits }: Actor, rateClass: RateClass): { remaining: number; resetS: number } {
  const { ratePerS, burst } = rateOf(limits, rateClass);
  return { remaining: burst, resetS: Math.max(1, Math.ceil(1 / ratePerS)) };
}

/** Says once in LIMITS.rate.faultLogMs that a bucket could not be asked: a fault meets every request. */
function createFaultLog({ clock, log }: Pick<RateLimiterDeps, "clock" | "log">): (error: unknown) => void {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = clock.monotonic();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + LIMITS.rate.faultLogMs;
    log.error({ err: error }, "a rate bucket could not be asked");
  };
}

/** The refusal that is certain without a call to Redis. */
function refusalOf(bucket: SharedBucket, nowMs: number): AppError | null {
  const waitMs = bucket.refusedUntilMs - nowMs;
  if (waitMs <= 0 && !bucket.isExhausted(nowMs)) return null;
  return rateLimited(bucket, waitMs);
}

function resetS(bucket: SharedBucket, nowMs: number, remaining: number): number {
  const { ratePerS } = bucket;
  if (remaining > 0 && ratePerS >= 1) return 1;
  const refusedMs = remaining === 0 ? bucket.refusedUntilMs - nowMs : 0;
  return Math.max(1, Math.ceil(Math.max(refusedMs, 1000 / ratePerS) / 1000));
}

class LeasingRateLimiter implements RateLimiter {
  readonly #deps: RateLimiterDeps;
  readonly #buckets = createTeamBuckets();
  readonly #questions: BucketQueries;
  readonly #onFault: (error: unknown) => void;
  readonly #local: LocalRates;
  /** Until when the bucket of verifications refuses that refuses for longest. */
  #refusingUntilMs = Number.NEGATIVE_INFINITY;
  #draining = false;
  #timer: Timer | undefined;

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
    this.#questions = createBucketQueries(deps);
    this.#onFault = createFaultLog(deps);
    this.#local = createLocalRates({
      ...deps,
      buckets: this.#buckets,
      queries: this.#questions,
      onFault: this.#onFault,
    });
  }

  start(): void {
    this.#timer = this.#deps.clock.after(LIMITS.rate.leaseTtlMs / 4, () => {
      this.start();
      this.#questions.giveUpLate();
      if (this.#local.isActive) this.#local.forgetFull(this.#deps.clock.monotonic());
      void this.#returnLeftovers(false);
    });
  }

  take(actor: Actor, rateClass: RateClass): void | Promise<void> {
    return this.#take(this.#buckets.of(actor, rateClass));
  }

  isLeased(actor: Actor, nowMs: number): boolean {
    return this.#local.isActive || (this.#buckets.known(actor, "verify")?.leased(nowMs) ?? 0) > 0;
  }

  isRefusing(nowMs: number): boolean {
    return nowMs < this.#refusingUntilMs + LIMITS.rate.refusalMaxMs && !this.#local.isActive;
  }

  refusal(actor: Actor, nowMs: number): AppError | null {
    if (this.#local.isActive) return null;
    const bucket = this.#buckets.of(actor, "verify");
    return bucket.leased(nowMs) > 0 ? null : refusalOf(bucket, nowMs);
  }

  snapshot(actor: Actor, rateClass: RateClass): { remaining: number; resetS: number } {
    const bucket = this.#buckets.known(actor, rateClass);
    if (!bucket) return fullBucketState(actor, rateClass);
    const nowMs = this.#deps.clock.monotonic();
    const remaining = this.#remainingOf(bucket, nowMs);
    return { remaining, resetS: resetS(bucket, nowMs, remaining) };
  }

  async drain(): Promise<void> {
    this.#draining = true;
    this.#timer?.cancel();
    // Tokens in replies that are still on their way are returned, too.
    this.#deps.buckets.hurry();
    await this.#questions.settled();
    const returned = this.#returnLeftovers(true);
    this.#deps.buckets.hurry();
    await this.#questions.settled();
    await returned;
  }

  #onFailure(error: unknown): void {
    if (isRedisUnavailable(error)) this.#local.begin(error);
    else this.#onFault(error);
  }

  #handOut(bucket: SharedBucket): void {
    const nowMs = this.#deps.clock.monotonic();
    while (bucket.waiters.length > 0 && bucket.take(nowMs)) bucket.waiters.shift()?.resolve();
    if (nowMs >= bucket.refusedUntilMs) return;
    if (bucket.rateClass === "verify")
      this.#refusingUntilMs = Math.max(this.#refusingUntilMs, bucket.refusedUntilMs);
    for (const waiter of bucket.waiters.splice(0))
      waiter.reject(rateLimited(bucket, bucket.refusedUntilMs - nowMs));
  }

  #settleAlone(bucket: SharedBucket, waiter: TokenWaiter): void {
    const waitMs = this.#local.take(bucket);
    if (waitMs > 0) waiter.reject(rateLimited(bucket, waitMs));
    else waiter.resolve();
  }

  /** All that wait are settled before anything else may fail. */
  #settleFailed(bucket: SharedBucket, error: unknown): void {
    for (const waiter of bucket.waiters.splice(0))
      if (isRedisUnavailable(error)) this.#settleAlone(bucket, waiter);
      else waiter.reject(error);
    this.#onFailure(error);
  }

  /** Gets tokens for waiting requests, one call at a time for a bucket. */
  async #serve(bucket: SharedBucket): Promise<void> {
    bucket.serving = true;
    try {
      do {
        await this.#questions.ask(bucket, bucket.nextRequest(this.#deps.clock.monotonic()));
        this.#handOut(bucket);
      } while (bucket.waiters.length > 0);
    } catch (error) {
      this.#settleFailed(bucket, error);
    } finally {
      bucket.serving = false;
    }
  }

  #wait(bucket: SharedBucket): Promise<void> {
    if (bucket.waiters.length >= LIMITS.rate.waitersPerBucket) throw TOO_MANY_WAIT;
    return new Promise((resolve, reject) => {
      // A request sent ahead, or one that returns tokens, may still be waiting for its batch. It is sent now, since this
      // request waits.
      this.#deps.buckets.hurry(bucket.key);
      bucket.waiters.push({ resolve, reject });
      if (!bucket.serving) void this.#serve(bucket);
    });
  }

  async #returnLeftovers(all: boolean): Promise<void> {
    const nowMs = this.#deps.clock.monotonic();
    const asking: Promise<void>[] = [];
    for (const bucket of this.#buckets.all()) {
      const request = bucket.returnRequest(nowMs, all);
      if (request && !this.#local.isActive)
        asking.push(this.#questions.ask(bucket, request).catch((error: unknown) => this.#onFailure(error)));
    }
    await Promise.all(asking);
  }

  #takeLeased(bucket: SharedBucket, nowMs: number): boolean {
    if (!bucket.take(nowMs)) return false;
    if (!bucket.serving && !this.#draining && bucket.wantsPrefetch(nowMs)) void this.#serve(bucket);
    return true;
  }

  #remainingOf(bucket: SharedBucket, nowMs: number): number {
    return this.#local.isActive ? this.#local.remaining(bucket, nowMs) : bucket.remaining(nowMs);
  }

  #take(bucket: SharedBucket): void | Promise<void> {
    if (this.#local.isActive) {
      const waitMs = this.#local.take(bucket);
      if (waitMs > 0) throw rateLimited(bucket, waitMs);
      return;
    }
    const nowMs = this.#deps.clock.monotonic();
    if (this.#takeLeased(bucket, nowMs)) return;
    const refusal = refusalOf(bucket, nowMs);
    if (refusal !== null) throw refusal;
    return this.#wait(bucket);
  }
}

export function createRateLimiter(deps: RateLimiterDeps): RateLimiter {
  return new LeasingRateLimiter(deps);
}
