import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "../../scripts/embedded/guard.ts";
import { bundle } from "../../scripts/image/bundle.ts";

/** The service within the folder of `compileProject`. */
export const SERVICE = "dist/src/main.js";

/**
 * Compiles the service as `npm run build` does, into `dist` of a folder that is removed with this run, and the
 * processes of the bench, a file each, beside it. A runner of TypeScript sources names every function anew each time it
 * is created: for a cached answer that alone is a tenth of the CPU time.
 *
 * @returns the folder; it is in the project, so that packages are found from it
 */
export async function compileProject(root: string, guard: Guard): Promise<string> {
  mkdirSync(join(root, ".rcpt"), { recursive: true });
  const folder = mkdtempSync(join(root, ".rcpt/bench-"));
  guard.removeAtEnd(folder);
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const project = ["-p", join(root, "tsconfig.json"), "--outDir", folder];
  await Promise.all([
    promisify(execFile)(process.execPath, [join(typescript, "bin/tsc"), ...project, "--noCheck"]),
    bundle(root, join(folder, "dist")),
  ]);
  return folder;
}
