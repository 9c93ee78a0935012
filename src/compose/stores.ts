import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Part } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import { createObjectStore, type ObjectStore } from "../store/objects.ts";
import { createPostgres, type Database, pingPostgres } from "../store/postgres.ts";
import { createRedis, type RedisClients } from "../store/redis.ts";

export interface Stores {
  sql: Database;
  redis: RedisClients;
  /** null: none is configured. */
  objects: ObjectStore | null;
  /** First to start, last to stop. */
  parts: Part[];
}

/** The clients of Postgres, Redis and object storage. Only Postgres must answer for the process to start. */
export function composeStores(config: Config, log: Logger): Stores {
  const name = `rcpt-${config.role}`;
  const { url, maxConnections } = config.database;
  const sql = createPostgres({ url, maxConnections, applicationName: name });
  const redis = createRedis({ url: config.redis.url, name, log });
  const objects = config.objects === null ? null : createObjectStore(config.objects, systemClock);
  const parts: Part[] = [
    { name: "postgres", start: () => pingPostgres(sql), stop: () => sql.end({ timeout: 1 }) },
    { name: "redis", start: () => redis.start(), stop: () => redis.stop() },
    { name: "objects", stop: () => objects?.stop() },
  ];
  return { sql, redis, objects, parts };
}
