import { openLists } from "../check/lists/lists.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { PromotedDisposables } from "../services/overrides/promoted-disposables.ts";
import { createExaminer, type Examiner } from "../services/verify/examine.ts";
import { type BatchExaminer, createBatchExaminer } from "../services/verify/examine-batch.ts";
import { createFlights } from "../services/verify/flights.ts";
import { createKeeping } from "../services/verify/keeping.ts";
import { createEvidenceCache } from "../store/evidence-cache.ts";
import type { Checks } from "./checks.ts";
import { readLifetimes } from "./lifetimes.ts";
import type { Stores } from "./stores.ts";

interface Parts {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
  checks: Checks;
  promoted: PromotedDisposables;
  /** How long whoever asks waits for a check. */
  deadlineMs: number;
}

export interface Examiners {
  examiner: Examiner;
  batches: BatchExaminer;
}

/** What answers about addresses in this process. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
export function composeExaminers(parts: Parts): Examiners {
  const { config, log, metrics, stores, checks, promoted, deadlineMs } = parts;
  const clock = systemClock;
  const { cacheEntries, lifetimesS } = config.verify;
  const cache = createEvidenceCache({ redis: stores.redis.commands, clock, maxEntries: cacheEntries });
  const keep = createKeeping(readLifetimes(lifetimesS));
  const examiner = createExaminer({
    clock,
    cache,
    flights: createFlights({ clock, cache, pool: checks.pool, log, deadlineMs, keep }),
    lists: openLists(checks.lists),
    isPromoted: promoted.covers,
    onLookup: (result) => metrics.cacheLookups.inc({ result }),
  });
  return { examiner, batches: createBatchExaminer({ clock, examiner }) };
}
