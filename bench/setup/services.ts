import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Guard } from "../../scripts/embedded/guard.ts";
import { type ServiceName, startStack } from "../../scripts/embedded/stack.ts";
import { stackSettings } from "../../scripts/start/settings.ts";
import type { Services } from "./state.ts";

const CACHE_DIR = join(import.meta.dirname, "../../.rcpt/cache");

export interface StartedServices extends Services {
  /** Settings of object storage; empty where it is not wanted. */
  objectSettings: Record<string, string>;
  /** Process ids of the services; Postgres has children. */
  pids: number[];
}

/** Services of this run alone, in a folder that goes with it. Postgres and Redis are always among them. */
export async function startServices(guard: Guard, needsObjects: boolean): Promise<StartedServices> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-bench-"));
  guard.removeAtEnd(dir);
  chmodSync(dir, 0o711);
  const wanted: ServiceName[] = needsObjects ? ["postgres", "redis", "objects"] : ["postgres", "redis"];
  const say = (line: string) => console.error(line);
  const stack = await startStack({ dir, cacheDir: CACHE_DIR, wanted, throwaway: true, guard, say });
  const { postgres, redis, objects } = stack;
  if (!postgres || !redis) throw new Error("the services did not start");
  const objectSettings = stackSettings({ ...stack, postgres: null, redis: null });
  const pids = [postgres, redis, objects].flatMap((one) => (one === null ? [] : [one.service.pid]));
  return { databaseUrl: postgres.url, redisUrl: redis.url, objectSettings, pids };
}
