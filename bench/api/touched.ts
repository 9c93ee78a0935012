import { Redis } from "ioredis";
import postgres from "postgres";
import type { BenchContext } from "../setup/context.ts";

export interface Touched {
  /** Calls of clients to Redis; a script counts as one. */
  redisCalls: number;
  /** Commands that Redis ran, those inside scripts included. */
  redisCommands: number;
  /** Transactions in Postgres; a statement outside of a transaction counts as one. */
  transactions: number;
}

/** Commands that only the script of `src/features/rate-limit/redis-buckets.ts` runs. */
const INSIDE_SCRIPTS: ReadonlySet<string> = new Set(["time", "hmget", "hset", "pexpire"]);

/** Counts in the answer to INFO commandstats, without INFO's own. */
export function commandCounts(info: string): { calls: number; commands: number } {
  let calls = 0;
  let commands = 0;
  for (const [, name = "", count] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (name === "info") continue;
    commands += Number(count);
    if (!INSIDE_SCRIPTS.has(name)) calls += Number(count);
  }
  return { calls, commands };
}

/**
 * Calls to Redis and Postgres during `work`, by it and by parallel load. Postgres updates its statistics up to a second
 * late. Under steady load before and after, the calls missing at the end equal those that came in late at the start.
 */
export async function countTouched(context: BenchContext, work: () => Promise<void>): Promise<Touched> {
  const redis = new Redis(context.redisUrl);
  const sql = postgres(context.databaseUrl, { max: 1 });
  async function read() {
    const [row] = await sql<{ transactions: number }[]>`
      select (xact_commit + xact_rollback)::float8 as transactions
      from pg_stat_database where datname = current_database()`;
    return { ...commandCounts(await redis.info("commandstats")), transactions: row?.transactions ?? 0 };
  }
  try {
    const before = await read();
    await work();
    const after = await read();
    return {
      redisCalls: after.calls - before.calls,
      redisCommands: after.commands - before.commands,
      transactions: after.transactions - before.transactions,
    };
  } finally {
    redis.disconnect();
    await sql.end({ timeout: 1 });
  }
}
