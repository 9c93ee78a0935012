import { LIMITS } from "../../config/limits/limits.ts";
import { CounterSet } from "../../platform/leasing/counter-set.ts";
import type { LeaseStore } from "../../platform/leasing/leased-counter.ts";
import type { Actor } from "../identity/actor.ts";
import { type RateClass, rateOf } from "./classes.ts";
import { SharedBucket, type Token } from "./shared-bucket.ts";

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

export function createTeamBuckets(store: LeaseStore<SharedBucket, Token>): TeamBuckets {
  const buckets = new CounterSet<SharedBucket>(LIMITS.rate.buckets);
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

  function add(actor: Actor, rateClass: RateClass): SharedBucket {
    const key = keyOf(actor, rateClass);
    return buckets.add(key, new SharedBucket(store, key, rateOf(actor.limits, rateClass), rateClass));
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
    all: () => buckets.all(),
  };
}
