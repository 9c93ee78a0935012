import type { ChecksConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { PromotedDisposables } from "../../features/overrides/promoted-disposables.ts";
import { createExaminer, type Examiner } from "../../features/verify/answer/examine.ts";
import { type BatchExaminer, createBatchExaminer } from "../../features/verify/batch/examine-batch.ts";
import { createEvidenceCache } from "../../features/verify/cache/evidence-cache.ts";
import { createRetention } from "../../features/verify/cache/retention.ts";
import { withoutDistrusted } from "../../features/verify/cache/trusted-cache.ts";
import {
  createWithdrawEvidence,
  type WithdrawEvidence,
} from "../../features/verify/cache/withdraw-evidence.ts";
import { type CheckAdmission, createCheckAdmission } from "../../features/verify/checks/admission.ts";
import { createInFlightChecks } from "../../features/verify/checks/in-flight-checks.ts";
import { createRechecks, type Rechecks } from "../../features/verify/checks/recheck.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { systemClock } from "../../platform/time/clock.ts";
import { createIdleShare } from "../../platform/v8/idle-share.ts";
import { EVIDENCE_CODEC } from "../../verification/evidence/model.ts";
import { openLists } from "../../verification/lists/lists.ts";
import { probedSiteOf } from "../../verification/lists/site.ts";
import type { Stores } from "../stores.ts";
import type { Checks } from "./checks.ts";
import { readLifetimes } from "./lifetimes.ts";

interface Deps {
  config: ChecksConfig;
  log: Logger;
  metrics: Metrics;
  stores: Pick<Stores, "redis">;
  checks: Pick<Checks, "lists" | "pool" | "sites" | "selfCheck" | "learnedBehaviour">;
  promoted: Pick<PromotedDisposables, "covers">;
  /** Maximum time that a caller waits for a check, in milliseconds. */
  deadlineMs: number;
}

export interface Examiners {
  rechecks: Rechecks;
  /** Admission control of single requests. */
  admission: CheckAdmission;
  examiner: Examiner;
  batches: BatchExaminer;
  withdraw: WithdrawEvidence;
}

/** The services that examine addresses in this process. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
export function composeExaminers(deps: Deps): Examiners {
  const { config, log, metrics, stores, checks, promoted, deadlineMs } = deps;
  const clock = systemClock;
  const { cacheEntries, lifetimesS } = config.verify;
  const cache = withoutDistrusted(
    createEvidenceCache({
      codec: EVIDENCE_CODEC,
      redis: stores.redis.commands,
      clock,
      log,
      maxEntries: cacheEntries,
    }),
    { learnedBehaviour: checks.learnedBehaviour, sites: checks.sites, selfCheck: checks.selfCheck, log },
  );
  const lookups = {
    memory: metrics.cacheLookups.tally({ result: "memory" }),
    miss: metrics.cacheLookups.tally({ result: "miss" }),
  };
  const parts = {
    clock,
    log,
    cache,
    lists: openLists(checks.lists),
    keep: createRetention(readLifetimes(lifetimesS)),
    onLookup(result: "memory" | "miss", count = 1) {
      lookups[result].count += count;
    },
  };
  const rechecks = createRechecks({
    ...parts,
    pool: checks.pool,
    siteOf: (evidence, domain) => probedSiteOf(checks.sites, evidence, domain),
    onEnd: (result) => metrics.rechecks.inc({ result }),
  });
  metrics.rechecksPending.readFrom(() => rechecks.pending);
  const refused = metrics.admissionsRefused.tally({});
  const admission = createCheckAdmission({
    clock,
    takeWaitMs: () => checks.pool.takeWaitMs(),
    takeIdle: createIdleShare(performance),
    onRefused() {
      refused.count += 1;
    },
    limits: LIMITS.inFlightChecks.admission,
  });
  metrics.checkQueueSeconds.readFrom(() => admission.waitMs() / 1_000);
  const inFlight = createInFlightChecks({
    ...parts,
    pool: checks.pool,
    deadlineMs,
    onSettled: (question, entry) => rechecks.onSettled(question, entry),
  });
  return {
    rechecks,
    admission,
    withdraw: createWithdrawEvidence({ redis: stores.redis.commands, cache, codec: EVIDENCE_CODEC, clock }),
    examiner: createExaminer({
      ...parts,
      inFlight,
      isPromoted: promoted.covers,
    }),
    batches: createBatchExaminer({
      ...parts,
      pool: checks.pool,
      signals: config.signals,
    }),
  };
}
