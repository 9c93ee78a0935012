import type { Clock, Timer } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { BucketRequest, RateBuckets } from "../../store/rate-bucket.ts";
import type { Actor } from "../actor.ts";
import { LocalBucket, SharedBucket } from "./bucket.ts";

/**
 * The rate of single verifications of a team: a token bucket in Redis, by Redis's clock, shared by all processes; one
 * for live and one for test credentials. Busy teams' tokens are leased ahead, so that most requests ask nobody; a team
 * with a low rate takes them one by one. A refusal is remembered until the next token is due, so that a flood of
 * refused requests costs no call either.
 *
 * Without Redis each process keeps the rate alone, by a bucket of its own that starts with what it last knew was left:
 * n processes then let n times the rate through at most, rather than none. Leaving and coming back is decided for the
 * whole process by one call in the background, so that requests do not wait for a Redis that is silent.
 */
export interface RateLimiter {
  /**
   * Takes one token, at once when one is leased.
   * @throws AppError `rate_limited` with the seconds to the next token; `overloaded` when too many wait.
   */
  take(actor: Actor): void | Promise<void>;
  /** Whether `take` would take a token at once. Takes nothing. */
  isLeased(actor: Actor, nowMs: number): boolean;
  /** Whether some team's requests are refused without asking anybody, or were a moment ago: for all that come, one look. */
  isRefusing(nowMs: number): boolean;
  /** With what `take` would refuse at once; null: it would not. Takes nothing. */
  refusal(actor: Actor, nowMs: number): AppError | null;
  /**
   * The same for who takes an actor's tokens by the thousand: the bucket is looked up once.
   * @throws AppError `overloaded` when too many teams are served
   */
  desk(actor: Actor): RateDesk;
  /** Tokens left as far as this process knows, and whole seconds until there is one more. No I/O. */
  snapshot(actor: Actor): { remaining: number; resetS: number };
  start(): void;
  /** Gives leased tokens back. Never rejects. */
  drain(): Promise<void>;
}

export interface RateDesk {
  /** False: none is to be had at once, and `take` of the limiter has to be asked. */
  take(nowMs: number): boolean;
  /** As in a snapshot. */
  remaining(nowMs: number): number;
  resetS(nowMs: number, remaining: number): number;
  /** True: it is of no more use, another one has to be asked for. */
  isClosed(): boolean;
}

/** What desks ask of the limiter that made them. */
interface Counter {
  takeLeased(bucket: SharedBucket, nowMs: number): boolean;
  remainingOf(bucket: SharedBucket, nowMs: number): number;
  resetS(bucket: SharedBucket, nowMs: number, remaining: number): number;
}

/**
 * A class, as the other places of a credential are: its functions are the same for all. Closures are objects of their own, of each
 * credential others, and a request waited for ten of them (some 40 ns with 64 teams).
 */
class BucketDesk implements RateDesk {
  readonly #counter: Counter;
  readonly #bucket: SharedBucket;

  constructor(counter: Counter, bucket: SharedBucket) {
    this.#counter = counter;
    this.#bucket = bucket;
  }

  take(nowMs: number): boolean {
    return this.#counter.takeLeased(this.#bucket, nowMs);
  }

  remaining(nowMs: number): number {
    return this.#counter.remainingOf(this.#bucket, nowMs);
  }

  resetS(nowMs: number, remaining: number): number {
    return this.#counter.resetS(this.#bucket, nowMs, remaining);
  }

  isClosed(): boolean {
    return this.#bucket.forgotten;
  }
}

export interface RateLimiterDeps {
  buckets: RateBuckets;
  clock: Clock;
  log: Logger;
}

/** Thrown by the thousand in an overload: its stack would cost more than all else. */
const TOO_MANY_WAIT = new AppError("overloaded", "Too many requests of the team wait.", { retryAfterS: 1 });

/** What a bucket refuses with, until it says something else: each costs a stack, and they come by the thousand. */
const refusals = new WeakMap<SharedBucket, AppError>();

function rateLimited(bucket: SharedBucket, waitMs: number): AppError {
  const message = `The rate of ${bucket.ratePerS} verifications a second (${bucket.burst} at once) is exceeded.`;
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
  const before = refusals.get(bucket);
  if (before?.retryAfterS === retryAfterS && before.message === message) return before;
  const refusal = new AppError("rate_limited", message, { retryAfterS });
  refusals.set(bucket, refusal);
  return refusal;
}

function keyOf(actor: Actor): string {
  return `${actor.teamId}:${actor.livemode ? "live" : "test"}`;
}

/** What a bucket holds that nobody has taken from here. */
function untouched({ limits }: Actor): { remaining: number; resetS: number } {
  return { remaining: limits.rateBurst, resetS: Math.max(1, Math.ceil(1 / limits.ratePerS)) };
}

export function createRateLimiter(deps: RateLimiterDeps): RateLimiter {
  const { clock, log } = deps;
  const buckets = new Map<string, SharedBucket>();
  /** Found before: a key has to be put together and hashed anew each time, twice a request. */
  const byActor = new WeakMap<Actor, SharedBucket>();
  /** Buckets of this process while it is alone; null while Redis answers. */
  let alone: Map<string, LocalBucket> | null = null;
  let askAgainAtMs = 0;
  /** Of the bucket that refuses for longest. */
  let refusingUntilMs = Number.NEGATIVE_INFINITY;
  let asking = false;
  const unanswered = new Set<Promise<unknown>>();
  let draining = false;
  let timer: Timer | undefined;

  function knownBucket(actor: Actor): SharedBucket | undefined {
    const known = byActor.get(actor);
    if (known !== undefined && !known.forgotten) return known;
    const bucket = buckets.get(keyOf(actor));
    if (bucket !== undefined) byActor.set(actor, bucket);
    return bucket;
  }

  function newBucket(actor: Actor): SharedBucket {
    if (buckets.size >= LIMITS.rate.buckets) forgetIdle();
    if (buckets.size >= LIMITS.rate.buckets)
      throw new AppError("overloaded", "Too many teams are served by this process.", { retryAfterS: 1 });
    const bucket = new SharedBucket(keyOf(actor), actor.limits.ratePerS, actor.limits.rateBurst);
    buckets.set(bucket.key, bucket);
    return bucket;
  }

  function bucketOf(actor: Actor): SharedBucket {
    const { ratePerS, rateBurst } = actor.limits;
    const bucket = knownBucket(actor) ?? newBucket(actor);
    // A request that began before the limits were changed does not bring the old ones back.
    if (actor.limitsAsOfMs < bucket.limitsAsOfMs) return bucket;
    bucket.ratePerS = ratePerS;
    bucket.burst = rateBurst;
    bucket.limitsAsOfMs = actor.limitsAsOfMs;
    return bucket;
  }

  function forgetIdle(): void {
    for (const [key, bucket] of buckets) {
      if (!bucket.isIdle) continue;
      buckets.delete(key);
      bucket.forgotten = true;
    }
  }

  async function ask(bucket: SharedBucket, request: BucketRequest): Promise<void> {
    const sentAtMs = clock.monotonic();
    const asked = deps.buckets.take(bucket.key, request);
    unanswered.add(asked);
    try {
      bucket.answered(request, await asked, sentAtMs, clock.monotonic());
    } finally {
      unanswered.delete(asked);
    }
    refusingUntilMs = Math.max(refusingUntilMs, bucket.refusedUntilMs);
  }

  function goAlone(error: unknown): void {
    askAgainAtMs = clock.monotonic() + LIMITS.rate.aloneMs;
    if (alone) return;
    log.warn({ err: error }, "rates are kept by this process alone: Redis does not answer");
    alone = new Map();
  }

  /** While alone, asks Redis now and then, in the background. */
  function askAgain(bucket: SharedBucket): void {
    if (asking || clock.monotonic() < askAgainAtMs) return;
    asking = true;
    const { ratePerS, burst } = bucket;
    ask(bucket, { ratePerS, burst, want: 0, waiting: 0, back: 0, used: 0, mayWait: false })
      .then(() => {
        alone = null;
        log.info("rates are shared again: Redis answers");
      }, goAlone)
      .finally(() => {
        asking = false;
      });
  }

  function takeAlone(bucket: SharedBucket, locals: Map<string, LocalBucket>): void {
    askAgain(bucket);
    const nowMs = clock.monotonic();
    let local = locals.get(bucket.key);
    if (!local) {
      local = new LocalBucket(bucket.remaining(nowMs), nowMs);
      locals.set(bucket.key, local);
    }
    const waitMs = local.take(nowMs, bucket.ratePerS, bucket.burst);
    if (waitMs > 0) throw rateLimited(bucket, waitMs);
  }

  function settleAlone(bucket: SharedBucket, locals: Map<string, LocalBucket>): void {
    for (const waiter of bucket.waiters.splice(0)) {
      try {
        takeAlone(bucket, locals);
        waiter.resolve();
      } catch (error) {
        if (error instanceof AppError) waiter.reject(error);
      }
    }
  }

  function handOut(bucket: SharedBucket): void {
    const nowMs = clock.monotonic();
    while (bucket.waiters.length > 0 && bucket.take(nowMs)) bucket.waiters.shift()?.resolve();
    if (nowMs >= bucket.refusedUntilMs) return;
    for (const waiter of bucket.waiters.splice(0))
      waiter.reject(rateLimited(bucket, bucket.refusedUntilMs - nowMs));
  }

  /** Gets tokens for those who wait, one call at a time for a bucket. */
  async function serve(bucket: SharedBucket): Promise<void> {
    bucket.serving = true;
    try {
      do {
        await ask(bucket, bucket.nextRequest(clock.monotonic()));
        handOut(bucket);
      } while (bucket.waiters.length > 0);
    } catch (error) {
      goAlone(error);
      if (alone) settleAlone(bucket, alone);
    } finally {
      bucket.serving = false;
    }
  }

  /** What is certain without asking. */
  function refusalOf(bucket: SharedBucket, nowMs: number): AppError | null {
    const waitMs = bucket.refusedUntilMs - nowMs;
    if (waitMs <= 0 && !bucket.isDry(nowMs)) return null;
    return rateLimited(bucket, waitMs);
  }

  function wait(bucket: SharedBucket): Promise<void> {
    if (bucket.waiters.length >= LIMITS.rate.waitersPerBucket) throw TOO_MANY_WAIT;
    return new Promise((resolve, reject) => {
      bucket.waiters.push({ resolve, reject });
      // Asked for ahead, or brought back, when nobody waited: what is gathered yet would keep this one waiting as well.
      deps.buckets.hurry(bucket.key);
      if (!bucket.serving) void serve(bucket);
    });
  }

  async function returnLeftovers(all: boolean): Promise<void> {
    const nowMs = clock.monotonic();
    const asking: Promise<void>[] = [];
    for (const bucket of buckets.values()) {
      const request = bucket.returnRequest(nowMs, all);
      if (request && !alone) asking.push(ask(bucket, request).catch(goAlone));
    }
    await Promise.all(asking);
  }

  function schedule(): void {
    timer = clock.after(LIMITS.rate.leaseTtlMs / 4, () => {
      void returnLeftovers(false).finally(() => {
        if (timer) schedule();
      });
    });
  }

  function takeLeased(bucket: SharedBucket, nowMs: number): boolean {
    if (bucket.takeCalmly(nowMs)) return true;
    if (!bucket.take(nowMs)) return false;
    if (!bucket.serving && !draining && bucket.wantsPrefetch(nowMs)) void serve(bucket);
    return true;
  }

  function remainingOf(bucket: SharedBucket, nowMs: number): number {
    if (!alone) return bucket.remaining(nowMs);
    const { ratePerS, burst } = bucket;
    return alone.get(bucket.key)?.remaining(nowMs, ratePerS, burst) ?? bucket.remaining(nowMs);
  }

  function resetS(bucket: SharedBucket, nowMs: number, remaining: number): number {
    const { ratePerS } = bucket;
    if (remaining > 0 && ratePerS >= 1) return 1;
    const refusedMs = remaining === 0 ? bucket.refusedUntilMs - nowMs : 0;
    return Math.max(1, Math.ceil(Math.max(refusedMs, 1000 / ratePerS) / 1000));
  }
  const counter: Counter = {
    takeLeased: (bucket, nowMs) => alone === null && takeLeased(bucket, nowMs),
    remainingOf,
    resetS,
  };

  return {
    take(actor) {
      const bucket = bucketOf(actor);
      if (alone) return takeAlone(bucket, alone);
      const nowMs = clock.monotonic();
      if (takeLeased(bucket, nowMs)) return;
      const refusal = refusalOf(bucket, nowMs);
      if (refusal !== null) throw refusal;
      return wait(bucket);
    },
    isLeased: (actor, nowMs) => alone !== null || (knownBucket(actor)?.leased(nowMs) ?? 0) > 0,
    isRefusing: (nowMs) => nowMs < refusingUntilMs + LIMITS.rate.refusalMaxMs && alone === null,
    refusal(actor, nowMs) {
      if (alone !== null) return null;
      const bucket = bucketOf(actor);
      return bucket.leased(nowMs) > 0 ? null : refusalOf(bucket, nowMs);
    },
    desk: (actor) => new BucketDesk(counter, bucketOf(actor)),
    snapshot(actor) {
      const bucket = knownBucket(actor);
      if (!bucket) return untouched(actor);
      const nowMs = clock.monotonic();
      const remaining = remainingOf(bucket, nowMs);
      return { remaining, resetS: resetS(bucket, nowMs, remaining) };
    },
    start: schedule,
    async drain() {
      draining = true;
      timer?.cancel();
      timer = undefined;
      // What is on its way here is brought back, too.
      deps.buckets.hurry();
      await Promise.allSettled(unanswered);
      const returned = returnLeftovers(true);
      deps.buckets.hurry();
      await returned;
    },
  };
}
