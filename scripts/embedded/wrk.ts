import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { unpackProgram } from "./debian-package.ts";
import type { Guard } from "./guard.ts";
import { whyNoPackages } from "./private-apt.ts";

export interface Wrk {
  command: string;
  env: Record<string, string | undefined>;
}

const WRK = { name: "wrk", path: "usr/bin/wrk" };
const HOW = process.platform === "darwin" ? "brew install wrk" : "sudo apt-get install wrk";

function onPath(): Wrk | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      accessSync(join(folder, "wrk"), constants.X_OK);
      return { command: join(folder, "wrk"), env: { PATH: process.env.PATH } };
    } catch {
      // Not here.
    }
  }
  return null;
}

/** True when it runs on this system's libraries. It ends with a failure when it is asked for its version. */
async function runs({ command, env }: Wrk): Promise<boolean> {
  const said = await promisify(execFile)(command, ["--version"], { env, timeout: 10_000 }).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
  );
  return said.stdout.startsWith("wrk ");
}

/**
 * The load generator wrk: on PATH, else out of Debian's packages in `cacheDir`, as Redis is.
 * @throws Error one line that says how to install it
 */
export async function findWrk({ cacheDir, guard }: { cacheDir: string; guard: Guard }): Promise<Wrk> {
  const installed = onPath();
  if (installed !== null && (await runs(installed))) return installed;
  if (whyNoPackages() === null) {
    try {
      const options = { folder: cacheDir, guard, say: (line: string) => console.error(line) };
      const { binary, libraries } = await unpackProgram(WRK, "wrk", options);
      const found = {
        command: binary,
        env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries.join(":") },
      };
      if (await runs(found)) return found;
    } catch {
      // The remedy is the same for every cause.
    }
  }
  throw new Error(`there is no load generator wrk: ${HOW}`);
}
