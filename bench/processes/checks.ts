import { composeChecks } from "../../src/app/checks/checks.ts";
import { loadConfig } from "../../src/config/config.ts";
import { LIMITS } from "../../src/config/limits/limits.ts";
import { createExaminer } from "../../src/features/verify/answer/examine.ts";
import { createBatchExaminer } from "../../src/features/verify/batch/examine-batch.ts";
import { createEvidenceCache } from "../../src/features/verify/cache/evidence-cache.ts";
import { createRetention } from "../../src/features/verify/cache/retention.ts";
import { createInFlightChecks } from "../../src/features/verify/checks/in-flight-checks.ts";
import { createLog } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createRedis } from "../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../src/verification/evidence/model.ts";
import { openLists } from "../../src/verification/lists/lists.ts";

export const NEVER_CANCELLED = { cancelled: () => false, onCancel: () => {} };

export const asker = (probing: boolean) => ({
  teamId: "team_bench",
  probing,
  overlay: { isBlocked: () => false, isDisposable: () => false },
});

/** Check threads as the service composes them, with Redis. */
export async function startChecks(settings: Record<string, string>) {
  const config = loadConfig(settings);
  const log = createLog(config.logLevel);
  const redis = createRedis({ url: config.redis.url, name: "rcpt-bench", log });
  await redis.start();
  const { pool, lists } = composeChecks({ config, log, metrics: createMetrics(), redis });
  await pool.ready();
  const close = async () => {
    await pool.close();
    redis.stop();
  };
  return { config, log, redis, lists, pool, close };
}

export type Checks = Awaited<ReturnType<typeof startChecks>>;

/** Check threads, and in front of them the cache and the examiners of single addresses and of batches. */
export async function startExaminers(settings: Record<string, string>) {
  const checks = await startChecks(settings);
  const { config, log, redis, pool } = checks;
  const clock = systemClock;
  const maxEntries = config.verify.cacheEntries;
  const cache = createEvidenceCache({ codec: EVIDENCE_CODEC, redis: redis.commands, clock, log, maxEntries });
  const lists = openLists(checks.lists);
  const parts = { clock, log, cache, lists, pool, keep: createRetention({}), onLookup: () => {} };
  const inFlight = createInFlightChecks({
    ...parts,
    deadlineMs: LIMITS.bulk.rowDeadlineMs,
    onSettled: () => {},
  });
  return {
    ...checks,
    cache,
    examiner: createExaminer({ ...parts, inFlight, isPromoted: () => false }),
    batches: createBatchExaminer({ ...parts, signals: config.signals }),
  };
}

export type Examiners = Awaited<ReturnType<typeof startExaminers>>;
