import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { LocalBucket, type SharedBucket } from "./bucket.ts";
import { type BucketQueries, isRedisUnavailable } from "./bucket-queries.ts";
import type { TeamBuckets } from "./team-buckets.ts";

/**
 * The rates while Redis is unreachable: a local bucket for each requested one. It is stored with the shared bucket, and so
 * has the same bounds, until it is full again or Redis answers again.
 */
export interface LocalRates {
  /** Redis is away. Looked at by each request. */
  readonly isActive: boolean;
  /** From now on this process keeps the rates, or still does. */
  begin(error: unknown): void;
  /** 0 when a token was taken, else the milliseconds until there is one. */
  take(bucket: SharedBucket): number;
  remaining(bucket: SharedBucket, nowMs: number): number;
  /** Forgets full buckets: a new one has the same state. */
  forgetFull(nowMs: number): void;
}

export interface LocalRatesDeps {
  clock: Clock;
  log: Logger;
  buckets: TeamBuckets;
  queries: BucketQueries;
  /** Redis answered wrongly, or was asked so. */
  onFault(error: unknown): void;
}

export function createLocalRates(deps: LocalRatesDeps): LocalRates {
  const { clock, log, buckets, queries: questions } = deps;
  let askAgainAtMs = 0;
  let asking = false;

  const rates = {
    isActive: false,
    begin(error: unknown) {
      askAgainAtMs = clock.monotonic() + LIMITS.rate.storeRetryMs;
      if (rates.isActive) return;
      rates.isActive = true;
      log.warn({ err: error }, "rates are kept by this process alone: Redis does not answer");
    },
    take(bucket: SharedBucket) {
      askAgain(bucket);
      const nowMs = clock.monotonic();
      bucket.local ??= new LocalBucket(bucket.remaining(nowMs), nowMs);
      return bucket.local.take(nowMs, bucket.ratePerS, bucket.burst);
    },
    remaining: (bucket: SharedBucket, nowMs: number) =>
      bucket.local?.remaining(nowMs, bucket.ratePerS, bucket.burst) ?? bucket.remaining(nowMs),
    forgetFull(nowMs: number) {
      for (const bucket of buckets.all())
        if (bucket.local !== null && rates.remaining(bucket, nowMs) >= bucket.burst) bucket.local = null;
    },
  };

  function end(): void {
    rates.isActive = false;
    for (const bucket of buckets.all()) bucket.local = null;
    log.info("rates are shared again: Redis answers");
  }

  function stillAway(error: unknown): void {
    if (isRedisUnavailable(error)) rates.begin(error);
    else {
      askAgainAtMs = clock.monotonic() + LIMITS.rate.storeRetryMs;
      deps.onFault(error);
    }
  }

  /** Now and then, in the background: no request waits for a Redis that may be silent. */
  function askAgain(bucket: SharedBucket): void {
    if (asking || clock.monotonic() < askAgainAtMs) return;
    asking = true;
    const { ratePerS, burst } = bucket;
    void questions
      .ask(bucket, { ratePerS, burst, want: 0, waiting: 0, back: 0, used: 0 })
      .finally(() => {
        asking = false;
      })
      .then(end, stillAway);
  }

  return rates;
}
