import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "./guard.ts";
import { type EmbeddedObjects, startObjects } from "./objects.ts";
import { type EmbeddedPostgres, startPostgres } from "./postgres.ts";
import { type EmbeddedRedis, startRedis } from "./redis.ts";

export const SERVICES = ["postgres", "redis", "objects"] as const;
export type ServiceName = (typeof SERVICES)[number];

export interface StackOptions {
  /** Folder of the data; a folder in it for each service. */
  dir: string;
  /** Folder of what was downloaded, shared by all runs. */
  cacheDir: string;
  wanted: readonly ServiceName[];
  throwaway: boolean;
  guard: Guard;
  say: (line: string) => void;
}

/** The started services; null where one was not requested. */
export interface Stack {
  postgres: EmbeddedPostgres | null;
  redis: EmbeddedRedis | null;
  objects: EmbeddedObjects | null;
  /** Resolves to one line when a service ends, whatever the reason. */
  ended: Promise<string>;
}

/** Starts the wanted services side by side. When one fails the caller ends the others through the guard. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { dir, wanted, cacheDir, ...shared } = options;
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const at = (name: ServiceName) => ({ ...shared, folder: join(dir, name) });
  const [postgres, redis, objects] = await Promise.allSettled([
    wanted.includes("postgres") ? startPostgres(at("postgres")) : null,
    wanted.includes("redis") ? startRedis({ ...at("redis"), cacheDir }) : null,
    wanted.includes("objects") ? startObjects(at("objects")) : null,
  ]);
  const stack = { postgres: value(postgres), redis: value(redis), objects: value(objects) };
  const ends = SERVICES.flatMap((name) => {
    const service = stack[name]?.service;
    return service ? [service.exited.then((how) => `${name} ended (${how})`)] : [];
  });
  return { ...stack, ended: ends.length === 0 ? new Promise(() => undefined) : Promise.race(ends) };
}

function value<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}
