import { Redis } from "ioredis";
import { createLog } from "../../src/platform/log.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { createPostgres } from "../../src/stores/postgres/postgres.ts";

/** Database and Redis of one run, not shared with other runs. */
export interface Services {
  /** URL of a database of the cluster that may be copied and is not used itself. */
  databaseUrl: string;
  redisUrl: string;
}

export interface CleanState {
  /** A database of the newest schema with nothing in it; Redis is emptied. @returns its URL */
  fresh(name: string): Promise<string>;
}

/**
 * Every bench begins with a clean state: a copy of a database that is migrated once, which costs a fraction of a
 * second, and an empty Redis.
 */
export async function createCleanState({ databaseUrl, redisUrl }: Services): Promise<CleanState> {
  await withDatabase(databaseUrl, async (sql) => {
    await migrate(sql, createLog("silent"));
  });
  const template = new URL(databaseUrl).pathname.slice(1);
  const maintenance = urlOf(databaseUrl, "postgres");
  let made = 0;
  return {
    async fresh(name) {
      made += 1;
      const database = `bench_${made}_${name.replaceAll(/[^a-z0-9]/g, "_")}`;
      await withDatabase(
        maintenance,
        (sql) => sql`create database ${sql(database)} template ${sql(template)}`,
      );
      await emptied(redisUrl);
      return urlOf(databaseUrl, database);
    },
  };
}

function urlOf(databaseUrl: string, database: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function withDatabase(
  url: string,
  work: (sql: ReturnType<typeof createPostgres>) => Promise<unknown>,
): Promise<void> {
  const sql = createPostgres({ url, maxConnections: 2, applicationName: "rcpt-bench" });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function emptied(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  try {
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
}
