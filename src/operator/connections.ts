import type { Config } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { createAuthBus } from "../features/auth/auth-bus.ts";
import { type ChangePublisher, createChangePublisher } from "../features/auth/publish.ts";
import { createLog } from "../platform/log.ts";
import { createPostgres, type Database } from "../stores/postgres/postgres.ts";
import { createRedis, type RedisClient } from "../stores/redis.ts";

/** Runs `work` on a database of its own, with longer timeouts: no request waits for a command. */
export async function withDatabase<T>(config: Config, work: (sql: Database) => Promise<T>): Promise<T> {
  const sql = createPostgres({
    url: config.database.url,
    maxConnections: 2,
    applicationName: "rcpt-operator",
    statementTimeoutMs: LIMITS.postgres.migrationTimeoutMs,
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Runs `work` on a Redis connection of its own. Rejects at once while Redis is away. */
export async function withRedis<T>(config: Config, work: (redis: RedisClient) => Promise<T>): Promise<T> {
  const log = createLog(config.logLevel, { role: "operator" }, process.stderr);
  const redis = createRedis({ url: config.redis.url, name: "rcpt-operator", log });
  try {
    await redis.start();
    await redis.ping().catch((cause: unknown) => {
      throw new Error("Redis does not answer at REDIS_URL", { cause });
    });
    return await work(redis.commands);
  } finally {
    redis.stop();
  }
}

/**
 * A database, with a publisher that announces changes to the running processes. Without Redis they read them from the feed,
 * within LIMITS.keys.confirmMs all the same.
 */
export function withPublisher<T>(
  config: Config,
  work: (sql: Database, publisher: ChangePublisher) => Promise<T>,
): Promise<T> {
  // Standard output belongs to the command.
  const log = createLog(config.logLevel, { role: "operator" }, process.stderr);
  return withDatabase(config, async (sql) => {
    const redis = createRedis({ url: config.redis.url, name: "rcpt-operator", log });
    try {
      await redis.start();
      const bus = createAuthBus(redis, log);
      // A command caches no credential.
      return await work(sql, createChangePublisher({ sql, bus, log, invalidate: () => undefined }));
    } finally {
      redis.stop();
    }
  });
}
