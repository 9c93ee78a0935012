import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { BoundedQuestions } from "../../platform/leasing/bounded-questions.ts";
import type { Logger } from "../../platform/log.ts";
import { upTo } from "../../platform/lru.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { isRedisOutage } from "../../stores/redis.ts";
import { LocalBucket } from "./local-bucket.ts";
import type { BucketGrant, BucketRequest, RateBuckets } from "./redis-buckets.ts";
import type { SharedBucket } from "./shared-bucket.ts";

export interface BucketQueriesDeps {
  buckets: RateBuckets;
  clock: Clock;
  log: Logger;
}

class NoAnswer extends Error {}

/** True when a request failed because Redis cannot be used now. False: the request or its answer was wrong. */
function isRedisUnavailable(error: unknown): boolean {
  return error instanceof NoAnswer || isRedisOutage(error);
}

/** Rejects invalid counts: they would grant tokens that do not exist, or block a bucket for ever. */
function requireGrant({ granted, left, nextMs }: BucketGrant, { want }: BucketRequest): void {
  const areCounts = [granted, left, nextMs].every((count) => Number.isSafeInteger(count) && count >= 0);
  if (!areCounts || granted > want)
    throw new Error(`a rate bucket granted ${granted} of ${want}, has ${left}, the next in ${nextMs} ms`);
}

/**
 * Questions to the buckets in Redis. Each is answered or given up: nothing waits for one forever. While Redis is away this
 * process answers by a bucket of its own for each requested one. It begins with the last known tokens, and is dropped when
 * Redis answers again.
 */
export class BucketQueries {
  readonly #deps: BucketQueriesDeps;
  readonly #questions: BoundedQuestions;
  /** Redis is away. */
  #isAlone = false;
  readonly #alone = new LRUCache<SharedBucket, LocalBucket>(upTo(LIMITS.rate.buckets));
  #askAgainAtMs = 0;
  #isAskingAgain = false;
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: BucketQueriesDeps) {
    this.#deps = deps;
    this.#questions = new BoundedQuestions({
      clock: deps.clock,
      timeoutMs: LIMITS.rate.answerMs,
      late: () => new NoAnswer(`no answer of Redis within ${LIMITS.rate.answerMs} ms`),
    });
  }

  /**
   * Asks, and notes the answer in the bucket: within this call while Redis is away. Rejects when the request or the answer was
   * wrong.
   */
  async ask(bucket: SharedBucket, request: BucketRequest): Promise<void> {
    const { clock } = this.#deps;
    const sentAtMs = clock.monotonic();
    const grant = this.#isAlone
      ? this.#answerAlone(bucket, request)
      : await this.#askRedis(bucket, request).catch((error: unknown) => {
          if (!isRedisUnavailable(error)) throw error;
          this.#begin(error);
          return this.#answerAlone(bucket, request);
        });
    bucket.onAnswer(request, grant, sentAtMs, clock.monotonic());
  }

  /** Resolves when nothing is asked any more, within LIMITS.rate.answerMs. */
  settled(): Promise<void> {
    return this.#questions.settled();
  }

  /** Says once in LIMITS.rate.faultLogMs that a bucket could not be asked: a fault meets every request. */
  onFault(error: unknown): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonic();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + LIMITS.rate.faultLogMs;
    log.error({ err: error }, "a rate bucket could not be asked");
  }

  /** Sent within this call, so that requests of one tick are batched. */
  async #askRedis({ key }: SharedBucket, request: BucketRequest): Promise<BucketGrant> {
    const answer = this.#questions.bounded(this.#deps.buckets.take(key, request));
    const grant = await this.#questions.open(answer);
    requireGrant(grant, request);
    return grant;
  }

  #answerAlone(bucket: SharedBucket, request: BucketRequest): BucketGrant {
    this.#askAgain(bucket);
    const nowMs = this.#deps.clock.monotonic();
    let local = this.#alone.get(bucket);
    if (local === undefined) {
      local = new LocalBucket(bucket.unleased(nowMs), nowMs);
      this.#alone.set(bucket, local);
    }
    const grant = local.take(request, nowMs);
    bucket.localFullAtMs = local.fullAtMs(request);
    return grant;
  }

  #begin(error: unknown): void {
    this.#askAgainLater();
    if (this.#isAlone) return;
    this.#isAlone = true;
    // Requests that wait for other questions need not wait for their time-out.
    this.#questions.giveUp();
    this.#deps.log.warn({ err: error }, "rates are kept by this process alone: Redis does not answer");
  }

  #end(): void {
    this.#isAlone = false;
    for (const bucket of this.#alone.keys()) {
      // Redis may have tokens where this process had none.
      bucket.refusedUntilMs = Number.NEGATIVE_INFINITY;
      bucket.localFullAtMs = Number.NEGATIVE_INFINITY;
    }
    this.#alone.clear();
    this.#deps.log.info("rates are shared again: Redis answers");
  }

  #askAgainLater(): void {
    this.#askAgainAtMs = this.#deps.clock.monotonic() + LIMITS.rate.storeRetryMs;
  }

  /** Now and then, in the background: no request waits for a Redis that may be silent. */
  #askAgain(bucket: SharedBucket): void {
    if (this.#isAskingAgain || this.#deps.clock.monotonic() < this.#askAgainAtMs) return;
    this.#isAskingAgain = true;
    const { ratePerS, burst } = bucket;
    this.#askRedis(bucket, { ratePerS, burst, want: 0, waiting: 0, back: 0, used: 0 })
      .finally(() => {
        this.#isAskingAgain = false;
      })
      .then(
        () => this.#end(),
        (error: unknown) => {
          this.#askAgainLater();
          if (!isRedisUnavailable(error)) this.onFault(error);
        },
      );
  }
}
