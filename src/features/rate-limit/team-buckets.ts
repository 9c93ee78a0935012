import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Actor } from "../identity/actor.ts";
import { SharedBucket } from "./bucket.ts";
import { type RateClass, rateOf } from "./classes.ts";

/** The buckets that this process knows, LIMITS.rate.buckets at most. */
export interface TeamBuckets {
  /** undefined: nothing was taken from it here. */
  known(actor: Actor, rateClass: RateClass): SharedBucket | undefined;
  /** The bucket with the rate now in force. @throws AppError `overloaded` when too many teams are served */
  of(actor: Actor, rateClass: RateClass): SharedBucket;
  all(): Iterable<SharedBucket>;
}

/** Verifications keep their key from the time when theirs was the only class: processes of both versions share it. */
function keyOf({ teamId, livemode }: Actor, rateClass: RateClass): string {
  const key = `${teamId}:${livemode ? "live" : "test"}`;
  return rateClass === "verify" ? key : `${key}:${rateClass}`;
}

export function createTeamBuckets(): TeamBuckets {
  const buckets = new Map<string, SharedBucket>();
  /** Cache of the look-up: a concatenated key would have to be hashed each time, twice a request. */
  const byActor = {
    verify: new WeakMap<Actor, SharedBucket>(),
    read: new WeakMap<Actor, SharedBucket>(),
    write: new WeakMap<Actor, SharedBucket>(),
  };

  function known(actor: Actor, rateClass: RateClass): SharedBucket | undefined {
    const found = byActor[rateClass].get(actor);
    if (found !== undefined && !found.isForgotten) return found;
    const bucket = buckets.get(keyOf(actor, rateClass));
    if (bucket !== undefined) byActor[rateClass].set(actor, bucket);
    return bucket;
  }

  function forgetIdle(): void {
    for (const [key, bucket] of buckets) {
      if (!bucket.isIdle) continue;
      buckets.delete(key);
      bucket.isForgotten = true;
    }
  }

  function add(actor: Actor, rateClass: RateClass): SharedBucket {
    if (buckets.size >= LIMITS.rate.buckets) forgetIdle();
    if (buckets.size >= LIMITS.rate.buckets)
      throw new AppError("overloaded", "Too many teams are served by this process.", { retryAfterS: 1 });
    const bucket = new SharedBucket(keyOf(actor, rateClass), rateOf(actor.limits, rateClass), rateClass);
    buckets.set(bucket.key, bucket);
    return bucket;
  }

  return {
    known,
    of(actor, rateClass) {
      const bucket = known(actor, rateClass) ?? add(actor, rateClass);
      if (actor.limits === bucket.limits) return bucket;
      // A request that began before the limits were changed does not bring the old ones back.
      if (actor.limitsAsOfMs < bucket.limitsAsOfMs) return bucket;
      const { ratePerS, burst } = rateOf(actor.limits, rateClass);
      bucket.ratePerS = ratePerS;
      bucket.burst = burst;
      bucket.limits = actor.limits;
      bucket.limitsAsOfMs = actor.limitsAsOfMs;
      return bucket;
    },
    all: () => buckets.values(),
  };
}
