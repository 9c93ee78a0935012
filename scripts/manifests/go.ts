import { delimiter } from "node:path";
import { run } from "./run.ts";

/** Go of the machine, for what is a Go module and no package of npm. */

const TIMEOUT_MS = 60_000;
const DOWNLOAD_WITHIN_MS = 600_000;

/** The environment in which `go` is found; null: it is not installed. */
export async function findGo(cwd: string): Promise<NodeJS.ProcessEnv | null> {
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/local/go/bin` };
  const asked = await run("go", ["version"], { cwd, timeoutMs: TIMEOUT_MS, env }).catch(() => null);
  return asked?.code === 0 ? env : null;
}

/** Folder of a module in Go's cache; null: it cannot be downloaded. @param module `path@version` */
export async function downloadModule(
  module: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const options = { cwd, timeoutMs: DOWNLOAD_WITHIN_MS, env, stdoutOnly: true };
  const { code, output } = await run("go", ["mod", "download", "-json", module], options);
  return code === 0 ? (JSON.parse(output) as { Dir: string }).Dir : null;
}
