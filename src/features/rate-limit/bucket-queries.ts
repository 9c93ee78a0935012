import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { isRedisOutage } from "../../stores/redis.ts";
import type { SharedBucket } from "./bucket.ts";
import type { BucketGrant, BucketRequest, RateBuckets } from "./rate-bucket.ts";

/** Questions to the buckets in Redis. Each is answered or given up: nothing waits for one forever. */
export interface BucketQueries {
  /**
   * Asks, and notes the answer in the bucket. Rejects as the store does, with a fault when the answer cannot be one, and
   * when there is none within LIMITS.rate.answerMs. See `isRedisUnavailable`.
   */
  ask(bucket: SharedBucket, request: BucketRequest): Promise<void>;
  /** Gives up requests that were sent LIMITS.rate.answerMs ago or earlier. */
  giveUpLate(): void;
  /** Resolves when nothing is asked any more, within LIMITS.rate.answerMs. */
  settled(): Promise<void>;
}

class NoAnswer extends Error {}

/** True when a request failed because Redis cannot be used now. False: the request or its answer was wrong. */
export function isRedisUnavailable(error: unknown): boolean {
  return error instanceof NoAnswer || isRedisOutage(error);
}

/** Rejects invalid counts: they would grant tokens that do not exist, or block a bucket for ever. */
function requireGrant({ granted, left, nextMs }: BucketGrant, { want }: BucketRequest): void {
  const areCounts = [granted, left, nextMs].every((count) => Number.isSafeInteger(count) && count >= 0);
  if (!areCounts || granted > want)
    throw new Error(`a rate bucket granted ${granted} of ${want}, has ${left}, the next in ${nextMs} ms`);
}

export function createBucketQueries({
  buckets,
  clock,
}: {
  buckets: RateBuckets;
  clock: Clock;
}): BucketQueries {
  interface Open {
    sentAtMs: number;
    giveUp(error: Error): void;
  }
  /** Open requests, in the order of sending. */
  const open = new Set<Open>();
  const onSettled: (() => void)[] = [];

  function giveUp(untilMs: number): void {
    for (const question of open) {
      if (question.sentAtMs > untilMs) return;
      question.giveUp(new NoAnswer(`no answer of Redis within ${LIMITS.rate.answerMs} ms`));
    }
  }

  function close(question: Open): void {
    open.delete(question);
    if (open.size > 0) return;
    for (const settle of onSettled.splice(0)) settle();
  }

  /** Sent within this call, so that requests of one tick are batched. */
  function send(key: string, request: BucketRequest, sentAtMs: number): Promise<BucketGrant> {
    return new Promise((resolve, reject) => {
      const question = { sentAtMs, giveUp: reject };
      open.add(question);
      const closing = <T>(settle: (value: T) => void) => {
        return (value: T) => {
          settle(value);
          close(question);
        };
      };
      question.giveUp = closing(reject);
      try {
        buckets.take(key, request).then(closing(resolve), question.giveUp);
      } catch (error) {
        question.giveUp(error as Error);
      }
    });
  }

  return {
    async ask(bucket, request) {
      const sentAtMs = clock.monotonic();
      const grant = await send(bucket.key, request, sentAtMs);
      requireGrant(grant, request);
      bucket.onAnswer(request, grant, sentAtMs, clock.monotonic());
    },
    giveUpLate: () => giveUp(clock.monotonic() - LIMITS.rate.answerMs),
    async settled() {
      if (open.size === 0) return;
      const late = clock.after(LIMITS.rate.answerMs, () => giveUp(Number.POSITIVE_INFINITY));
      await new Promise<void>((resolve) => {
        onSettled.push(resolve);
      });
      late.cancel();
    },
  };
}
