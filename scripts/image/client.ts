import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { writeApiTypes } from "../build/api-types.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The sources of the package `@rcpt/client`. */
export const CLIENT = join(ROOT, "packages/client");

/** Runs the compiler of this project. @throws Error with its output */
export function runCompiler(args: readonly string[], cwd: string): void {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, ...args], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`tsc ${args.join(" ")}: ${stdout}${stderr}`);
}

/** Compiles the client library into `folder`, with its types. @throws Error with the compiler's output */
export function buildClient(folder: string = join(CLIENT, "dist")): void {
  writeApiTypes();
  rmSync(folder, { recursive: true, force: true });
  runCompiler(["-p", CLIENT, "--outDir", folder], ROOT);
  // The compiler does not copy a file that is a declaration already.
  copyFileSync(join(CLIENT, "src/schema.d.ts"), join(folder, "schema.d.ts"));
}
