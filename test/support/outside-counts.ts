import { createObjectGate, type ObjectGate } from "./object-gate.ts";
import { type OwnRedis, startOwnRedis } from "./own-services.ts";
import { createPostgresCounter, type PostgresCounter } from "./postgres-counter.ts";
import { type RedisCounts, redisCounts } from "./redis-counts.ts";
import type { TestDeployment } from "./service.ts";

/** Requests of a process to its stores while some work was done. */
export interface OutsideCounts {
  elapsedS: number;
  redis: RedisCounts;
  /** Transactions in Postgres; a statement outside of a transaction counts as one. */
  transactions: number;
  objects: { requests: number; shardBytes: number };
}

/** Stores that count the requests of the processes that run with these settings. */
export interface Outside {
  redis: OwnRedis;
  settings: Record<string, string>;
  during(work: () => Promise<void>): Promise<OutsideCounts>;
  /** Closes the proxies before the stores; call it after the processes that use them have ended. */
  close(): Promise<void>;
}

export async function createOutside(deployment: TestDeployment): Promise<Outside> {
  const redis = await startOwnRedis();
  const postgres: PostgresCounter = await createPostgresCounter(deployment.settings.DATABASE_URL);
  const storage: ObjectGate = await createObjectGate(deployment.settings.S3_ENDPOINT ?? "");
  let shardBytes = 0;
  storage.setFaults(({ method, path, bytes }) => {
    if (method === "PUT" && path.includes("/shards/")) shardBytes += bytes;
    return null;
  });
  return {
    redis,
    settings: { REDIS_URL: redis.url, DATABASE_URL: postgres.url, S3_ENDPOINT: storage.endpoint },
    async during(work) {
      const before = await redisCounts(redis.client);
      const { transactions } = postgres;
      const { requests } = storage.seen;
      const bytesBefore = shardBytes;
      const startMs = performance.now();
      await work();
      const elapsedS = (performance.now() - startMs) / 1_000;
      const now = await redisCounts(redis.client);
      return {
        elapsedS,
        redis: {
          scripts: now.scripts - before.scripts,
          reads: now.reads - before.reads,
          entries: now.entries - before.entries,
        },
        transactions: postgres.transactions - transactions,
        objects: { requests: storage.seen.requests - requests, shardBytes: shardBytes - bytesBefore },
      };
    },
    async close() {
      await storage.close();
      await postgres.close();
      await redis.close();
    },
  };
}
