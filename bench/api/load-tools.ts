import { join } from "node:path";
import type { Guard } from "../../scripts/embedded/guard.ts";
import { findWrk, type Wrk } from "../../scripts/embedded/wrk.ts";
import { type Cores, chooseCores } from "../setup/pin.ts";

/** Tools to measure a server on a core of its own. */
export interface LoadTools {
  cores: Cores;
  wrk: Wrk;
}

/** @throws Error one line that says what this machine lacks, and how to install it */
export async function findLoadTools({ guard }: { guard: Guard }): Promise<LoadTools> {
  const cores = await chooseCores();
  const cacheDir = join(import.meta.dirname, "../../.rcpt/cache");
  return { cores, wrk: await findWrk({ cacheDir, guard }) };
}
