import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { LifecyclePart } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import type { ObjectStore } from "../store/objects.ts";
import { withOutageWait } from "../store/outage-wait.ts";
import { createPostgres, type Database, requirePrimary } from "../store/postgres.ts";
import type { RedisClients } from "../store/redis.ts";
import { createSchemaWait } from "../store/schema-wait.ts";

export interface Stores {
  sql: Database;
  redis: RedisClients;
  /** null: none is configured. */
  objects: ObjectStore | null;
  /** First to start, last to stop. */
  parts: LifecyclePart[];
}

/**
 * The clients of Postgres, Redis and object storage. Only Postgres must answer, with
 * the schema of this version, for the process to start; it is waited for. What object
 * storage takes is loaded where there is one: a tenth of a second.
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
  const { createObjectStore } = await import("../store/objects.ts");
  return createObjectStore(config, systemClock);
}
