import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { composeChecks } from "../../src/app/checks/checks.ts";
import { loadConfig } from "../../src/config/config.ts";
import { LIMITS } from "../../src/config/limits/limits.ts";
import type { CheckPool } from "../../src/engine/threads/pool.ts";
import { createExaminer, type Examiner } from "../../src/features/verify/answer/examine.ts";
import { type BatchExaminer, createBatchExaminer } from "../../src/features/verify/batch/examine-batch.ts";
import { createEvidenceCache, type EvidenceCache } from "../../src/features/verify/cache/evidence-cache.ts";
import { createRetention } from "../../src/features/verify/cache/retention.ts";
import { createInFlightChecks } from "../../src/features/verify/checks/in-flight-checks.ts";
import { createLog } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { createRedis, type RedisClients } from "../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../src/verification/evidence/model.ts";
import { openLists } from "../../src/verification/lists/lists.ts";
import { DOMAINS, domainName } from "../probing/plan.ts";
import { answerParent } from "../setup/child.ts";

/** A process that has checked many addresses, and stores the evidence as the service does. */
interface Process {
  pool: CheckPool;
  redis: RedisClients;
  cache: EvidenceCache;
  examiner: Examiner;
  batches: BatchExaminer;
}

const ASKER = {
  teamId: "team_bench",
  probing: true,
  overlay: { isBlocked: () => false, isDisposable: () => false },
};
const NOBODY_GOES = { cancelled: () => false, onCancel: () => {} };
/** Chunks in progress, as in a worker. */
const CHUNKS_AT_ONCE = LIMITS.bulk.tasksAtOnce;

/** All addresses exist, so that all entries are alike. */
const addressAt = (run: number, at: number) => `user${at}@${domainName(run, at % DOMAINS)}`;

let made: Process | null = null;

function started(): Process {
  if (made === null) throw new Error("not started");
  return made;
}

/** Resident bytes of the process after a garbage collection. */
function settled(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage.rss();
}

const verbs = {
  async start(settings: Record<string, string>) {
    const config = loadConfig(settings);
    const log = createLog(config.logLevel);
    const redis = createRedis({ url: config.redis.url, name: "rcpt-bench", log });
    await redis.start();
    const { pool, lists } = composeChecks({ config, log, metrics: createMetrics(), redis });
    await pool.ready();
    const clock = systemClock;
    const maxEntries = config.verify.cacheEntries;
    const cache = createEvidenceCache({
      codec: EVIDENCE_CODEC,
      redis: redis.commands,
      clock,
      log,
      maxEntries,
    });
    const parts = {
      clock,
      log,
      cache,
      lists: openLists(lists),
      pool,
      keep: createRetention({}),
      onLookup: () => {},
    };
    const inFlight = createInFlightChecks({
      ...parts,
      deadlineMs: LIMITS.bulk.rowDeadlineMs,
      onSettled: () => {},
    });
    const examiner = createExaminer({ ...parts, inFlight, isPromoted: () => false });
    made = {
      pool,
      redis,
      cache,
      examiner,
      batches: createBatchExaminer({ ...parts, signals: config.signals }),
    };
  },

  resident: settled,

  /** Checks addresses `from` to `from + count` of a run. @returns how many of them were not answered by a probe */
  async fill({ run, from, count }: { run: number; from: number; count: number }) {
    const { examiner, batches } = started();
    let wrong = 0;
    let next = from;
    async function work(): Promise<void> {
      while (next < from + count) {
        const size = Math.min(LIMITS.bulk.rowsPerChunk, from + count - next);
        const first = next;
        next += size;
        const questions = Array.from({ length: size }, (_, at) =>
          examiner.understand(addressAt(run, first + at), false, ASKER),
        );
        const answers = await batches.examine(
          questions,
          { refresh: () => false, waitsForSite: true },
          NOBODY_GOES,
        ).done;
        for (const { finding } of answers) if (finding?.entry?.evidence.smtp == null) wrong += 1;
      }
    }
    await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, work));
    return { wrong };
  },

  /** How many of the first `count` addresses of a run are in memory. */
  held({ run, count }: { run: number; count: number }) {
    const { cache, examiner } = started();
    let held = 0;
    for (let at = 0; at < count; at++) {
      const { address } = examiner.understand(addressAt(run, at), false, ASKER);
      if (address !== null && cache.peek("probed", address.cacheKey) !== undefined) held += 1;
    }
    return held;
  },
};

export type CachedProcess = typeof verbs;

answerParent(verbs, async () => {
  await made?.pool.close();
  made?.redis.stop();
});
