import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { promisify } from "node:util";
import { type DebianProgram, unpackProgram } from "./debian-package.ts";
import type { Guard } from "./guard.ts";
import { whyNoPackages } from "./private-apt.ts";

export interface Program {
  binary: string;
  env: Record<string, string | undefined>;
}

const RUNS_WITHIN_MS = 10_000;

function onPath(name: string): Program | null {
  // Debian installs daemons in folders that only root's PATH has.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin"];
  for (const folder of folders) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return { binary: join(folder, name), env: { PATH: process.env.PATH } };
    } catch {
      // Not here.
    }
  }
  return null;
}

/** True when it runs on this system's libraries. */
async function runs({ binary, env }: Program, versionFlag: string): Promise<boolean> {
  const { error } = await promisify(execFile)(binary, [versionFlag], { env, timeout: RUNS_WITHIN_MS }).then(
    () => ({ error: null }),
    (error: unknown) => ({ error }),
  );
  return error === null;
}

/**
 * Finds a program on PATH, by the last part of its path; else unpacks it from the distribution's packages into
 * `folder`. The system is not changed.
 * @param versionFlag flag that prints its version, to check that it runs
 * @throws Error one line that says what to do
 */
export async function findProgram(
  program: DebianProgram,
  options: { folder: string; guard: Guard; say(line: string): void },
  versionFlag = "-v",
): Promise<Program> {
  const name = basename(program.path);
  const installed = onPath(name);
  if (installed !== null && (await runs(installed, versionFlag))) return installed;
  let reason = whyNoPackages();
  if (reason === null) {
    try {
      const { binary, libraries } = await unpackProgram(program, program.name, options);
      const found = { binary, env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries.join(":") } };
      if (await runs(found, versionFlag)) return found;
      reason = "the distribution's does not run here";
    } catch {
      // The command's message names the package source; the remedy is the same for every cause.
      reason = "its packages cannot be had";
    }
  }
  throw new Error(`there is no ${name}, and ${reason}: install it so that it is on PATH`);
}
