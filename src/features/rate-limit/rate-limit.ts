import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { LeaseStore, UnitWaiter } from "../../platform/leasing/leased-counter.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { Actor } from "../identity/actor.ts";
import { BucketQueries } from "./bucket-queries.ts";
import { type RateClass, rateOf } from "./classes.ts";
import type { RateBuckets } from "./redis-buckets.ts";
import type { SharedBucket, Token } from "./shared-bucket.ts";
import { createTeamBuckets, type TeamBuckets } from "./team-buckets.ts";

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

/** The state of a bucket from which this process took nothing. */
function fullBucketState({ limits }: Actor, rateClass: RateClass): { remaining: number; resetS: number } {
  const { ratePerS, burst } = rateOf(limits, rateClass);
  return { remaining: burst, resetS: Math.max(1, Math.ceil(1 / ratePerS)) };
}

function resetS(bucket: SharedBucket, nowMs: number, remaining: number): number {
  const { ratePerS } = bucket;
  if (remaining > 0 && ratePerS >= 1) return 1;
  const refusedMs = remaining === 0 ? bucket.refusedUntilMs - nowMs : 0;
  return Math.max(1, Math.ceil(Math.max(refusedMs, 1000 / ratePerS) / 1000));
}

class LeasingRateLimiter implements RateLimiter, LeaseStore<SharedBucket, Token> {
  readonly clock: Clock;
  readonly sizes = { first: 1, goneMs: LIMITS.rate.leaseGoneMs, lastedMs: LIMITS.rate.leaseLastedMs };
  readonly waitersMax = LIMITS.rate.waitersPerBucket;
  readonly tooManyWait = new AppError("overloaded", "Too many requests of the team wait.", {
    retryAfterS: 1,
  });
  isDraining = false;
  readonly #redis: RateBuckets;
  readonly #buckets: TeamBuckets;
  readonly #queries: BucketQueries;
  /** Until when the bucket of verifications refuses that refuses for longest. */
  #refusingUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(deps: RateLimiterDeps) {
    this.clock = deps.clock;
    this.#redis = deps.buckets;
    this.#buckets = createTeamBuckets(this);
    this.#queries = new BucketQueries(deps);
  }

  start(): void {
    this.#timer = this.clock.after(LIMITS.rate.leaseTtlMs / 4, () => {
      this.start();
      void this.#returnLeftovers(false);
    });
  }

  take(actor: Actor, rateClass: RateClass): void | Promise<void> {
    const bucket = this.#buckets.of(actor, rateClass);
    const nowMs = this.clock.monotonic();
    // What was asked ahead, or brings tokens back, may still wait for its batch. It is sent before this request's question,
    // which may need those tokens.
    if (bucket.leased(nowMs) === 0) this.#redis.hurry(bucket.key);
    return bucket.take(nowMs);
  }

  isLeased(actor: Actor, nowMs: number): boolean {
    return (this.#buckets.known(actor, "verify")?.leased(nowMs) ?? 0) > 0;
  }

  isRefusing(nowMs: number): boolean {
    return nowMs < this.#refusingUntilMs + LIMITS.rate.refusalMaxMs;
  }

  refusal(actor: Actor, nowMs: number): AppError | null {
    const bucket = this.#buckets.of(actor, "verify");
    return bucket.leased(nowMs) > 0 ? null : bucket.refusal(nowMs);
  }

  snapshot(actor: Actor, rateClass: RateClass): { remaining: number; resetS: number } {
    const bucket = this.#buckets.known(actor, rateClass);
    if (!bucket) return fullBucketState(actor, rateClass);
    const nowMs = this.clock.monotonic();
    const remaining = bucket.remaining(nowMs);
    return { remaining, resetS: resetS(bucket, nowMs, remaining) };
  }

  async drain(): Promise<void> {
    this.isDraining = true;
    this.#timer?.cancel();
    // Tokens in replies that are still on their way are returned, too.
    this.#redis.hurry();
    await this.#queries.settled();
    const returned = this.#returnLeftovers(true);
    this.#redis.hurry();
    await this.#queries.settled();
    await returned;
  }

  async lease(bucket: SharedBucket): Promise<void> {
    await this.#queries.ask(bucket, bucket.nextRequest(this.clock.monotonic()));
    if (bucket.rateClass === "verify")
      this.#refusingUntilMs = Math.max(this.#refusingUntilMs, bucket.refusedUntilMs);
  }

  failed(_bucket: SharedBucket, error: unknown, waiters: readonly UnitWaiter<Token>[]): void {
    for (const waiter of waiters) waiter.reject(error);
    this.#queries.onFault(error);
  }

  async #returnLeftovers(all: boolean): Promise<void> {
    const nowMs = this.clock.monotonic();
    const asking: Promise<void>[] = [];
    for (const bucket of this.#buckets.all()) {
      const request = bucket.returnRequest(nowMs, all);
      if (request)
        asking.push(
          this.#queries.ask(bucket, request).catch((error: unknown) => this.#queries.onFault(error)),
        );
    }
    await Promise.all(asking);
  }
}

export function createRateLimiter(deps: RateLimiterDeps): RateLimiter {
  return new LeasingRateLimiter(deps);
}
