import type { Config } from "../config/config.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import { systemClock } from "../platform/time/clock.ts";
import type { ObjectStore } from "../stores/objects/objects.ts";
import { withOutageWait } from "../stores/postgres/outage-wait.ts";
import { createPostgres, type Database, requirePrimary } from "../stores/postgres/postgres.ts";
import { createSchemaWait } from "../stores/postgres/schema-wait.ts";
import type { RedisClients } from "../stores/redis.ts";

export interface Stores {
  sql: Database;
  redis: RedisClients;
  /** null: none is configured. */
  objects: ObjectStore | null;
  /** First to start, last to stop. */
  parts: LifecyclePart[];
}

/**
 * The clients of Postgres, Redis and object storage. To start, the process waits for Postgres with the schema of this
 * version, and for nothing else. The client of object storage is loaded only if it is configured: that takes 0.1 s.
 */
export async function composeStores(config: Config, redis: RedisClients, log: Logger): Promise<Stores> {
  const name = `rcpt-${config.role}`;
  const { url, maxConnections } = config.database;
  const sql = createPostgres({ url, maxConnections, applicationName: name });
  const objects = config.objects === null ? null : await openObjects(config.objects);
  const parts: LifecyclePart[] = [
    withOutageWait(
      { name: "postgres", start: () => requirePrimary(sql), stop: () => sql.end({ timeout: 1 }) },
      { clock: systemClock, log },
    ),
    createSchemaWait({ sql, clock: systemClock, log }),
    { name: "redis", start: () => redis.start(), stop: () => redis.stop() },
    { name: "objects", stop: () => objects?.stop() },
  ];
  return { sql, redis, objects, parts };
}

async function openObjects(config: NonNullable<Config["objects"]>): Promise<ObjectStore> {
  const { createObjectStore } = await import("../stores/objects/objects.ts");
  return createObjectStore(config, systemClock);
}
