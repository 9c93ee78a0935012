import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type FaultyS3, type Fault as ObjectFault, startFaultyS3 } from "../../../test/support/s3-faults.ts";
import type { Guard } from "../../embedded/guard.ts";
import { type EmbeddedObjects, startObjects } from "../../embedded/objects.ts";
import { type EmbeddedPostgres, startPostgres } from "../../embedded/postgres.ts";
import { type EmbeddedRedis, startRedis } from "../../embedded/redis.ts";

export interface Place {
  guard: Guard;
  /** A folder of this run. */
  dir: string;
  /** Folder for what is downloaded. */
  cacheDir: string;
  say(line: string): void;
}

/** PostgreSQL, Redis and object storage of a run, on fixed ports. Each can be stopped. */
export interface Stores {
  postgres(): EmbeddedPostgres;
  redis(): EmbeddedRedis;
  objects: EmbeddedObjects;
  /** Between the service and object storage. */
  gate: FaultyS3;
  /** Returns the fault for each request to object storage from now on; null: no faults. */
  spoilObjects(fault: (() => ObjectFault) | null): void;
  stopRedis(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** @param empty deletes its data first */
  startRedis(empty: boolean): Promise<void>;
  stopPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
}

export async function startStores({ guard, dir, cacheDir, say }: Place): Promise<Stores> {
  chmodSync(dir, 0o711);
  const at = (name: string) => {
    const folder = join(dir, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    // Not throw-away, so that committed data survives when the server is killed.
    return { folder, throwaway: false, guard, say };
  };
  const redisAt = { ...at("redis"), cacheDir };
  const postgresAt = at("postgres");
  const started = [startPostgres(postgresAt), startRedis(redisAt), startObjects(at("objects"))] as const;
  const [first, firstRedis, objects] = await Promise.all(started);
  let postgres = first;
  let redis = firstRedis;
  guard.removeAtEnd(postgres.folder);
  let spoil: (() => ObjectFault) | null = null;
  const gate = await startFaultyS3(objects.endpoint, () => spoil?.() ?? null);
  return {
    postgres: () => postgres,
    redis: () => redis,
    objects,
    gate,
    spoilObjects(fault) {
      spoil = fault;
    },
    async stopRedis(signal) {
      process.kill(redis.service.pid, signal);
      await redis.service.exited;
    },
    async startRedis(empty) {
      if (empty) rmSync(join(redisAt.folder, "appendonlydir"), { recursive: true, force: true });
      redis = await startRedis({ ...redisAt, again: redis.url });
    },
    async stopPostgres() {
      process.kill(postgres.service.pid, "SIGINT");
      await postgres.service.exited;
    },
    async startPostgres() {
      postgres = await startPostgres({ ...postgresAt, again: postgres.url });
    },
  };
}
