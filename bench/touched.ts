import { Redis } from "ioredis";
import postgres from "postgres";
import type { BenchContext } from "./context.ts";

export interface Touched {
  /** Commands Redis ran, those inside Lua scripts included. */
  redis: number;
  /** Transactions of Postgres, each statement outside of one counting as one. */
  postgres: number;
}

/** Postgres writes its statistics down at most once a second. */
const STATISTICS_LAG_MS = 1_500;

/** Sum of `calls` in the answer to INFO commandstats, without INFO's own. */
export function commandCalls(info: string): number {
  let calls = 0;
  for (const [, name, count] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
    if (name !== "info") calls += Number(count);
  return calls;
}

/** What `work` and all that runs in the background meanwhile asked of Redis and Postgres. */
export async function countTouched(context: BenchContext, work: () => Promise<void>): Promise<Touched> {
  const redis = new Redis(context.redisUrl);
  const sql = postgres(context.databaseUrl, { max: 1 });
  async function read(): Promise<Touched> {
    await new Promise((resolve) => setTimeout(resolve, STATISTICS_LAG_MS));
    const [row] = await sql<{ transactions: number }[]>`
      select (xact_commit + xact_rollback)::float8 as transactions
      from pg_stat_database where datname = current_database()`;
    return { redis: commandCalls(await redis.info("commandstats")), postgres: row?.transactions ?? 0 };
  }
  try {
    const before = await read();
    await work();
    const after = await read();
    return { redis: after.redis - before.redis, postgres: after.postgres - before.postgres };
  } finally {
    redis.disconnect();
    await sql.end({ timeout: 1 });
  }
}
