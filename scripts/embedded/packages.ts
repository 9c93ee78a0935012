import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "./guard.ts";
import { privateApt } from "./private-apt.ts";

const run = promisify(execFile);
const APT_TIMEOUT_MS = 300_000;
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
const MOUNT_POINTS = ["dev", "mnt", "proc", "run", "tmp"];
/** Folders that are links into `/usr` where the distribution ships nothing outside of it (usrmerge). */
const MERGED = ["bin", "sbin", "lib", "lib64"];

async function download(
  work: string,
  packages: readonly string[],
  { guard, stop: signal, release }: UnpackOptions,
): Promise<string[]> {
  const options = {
    signal,
    env: privateApt(work, guard, "nothing", release),
    timeout: APT_TIMEOUT_MS,
    maxBuffer: OUTPUT_MAX_BYTES,
  };
  await run("apt-get", ["-qq", "update"], options);
  await run("apt-get", ["-qq", "--yes", "--download-only", "install", ...packages], options);
  const archives = join(work, "cache/archives");
  return readdirSync(archives)
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

async function unpack(archives: string[], root: string, signal: AbortSignal): Promise<void> {
  mkdirSync(root);
  for (const archive of archives) await run("dpkg-deb", ["-x", archive, root], { signal });
  for (const name of MOUNT_POINTS) mkdirSync(join(root, name), { recursive: true });
  for (const name of MERGED)
    if (!existsSync(join(root, name)) && existsSync(join(root, "usr", name)))
      symlinkSync(`usr/${name}`, join(root, name));
}

export interface UnpackOptions {
  cacheDir: string;
  guard: Guard;
  stop: AbortSignal;
  /** Another release of the distribution, e.g. `trixie`; absent: the system's. */
  release?: string;
}

/**
 * Unpacks the packages and all their dependencies, down to the C library, into a folder of their own under `cacheDir`
 * the first time: a file system, without running scripts and without users or settings. As root or not; the system is
 * not changed. Resolves to that folder.
 *
 * @throws Error when the packages are unavailable (no network, no such package), or on `stop`.
 */
export async function unpackPackages(
  name: string,
  packages: readonly string[],
  options: UnpackOptions,
): Promise<string> {
  const { cacheDir, guard, stop } = options;
  const version = createHash("sha256").update(packages.join(" ")).digest("hex").slice(0, 8);
  const root = join(cacheDir, `${name}-${version}`);
  if (existsSync(root)) return root;
  console.log(`${name}: fetching ${packages.join(", ")} and what they need, unpacking into ${root}`);
  const work = `${root}.${process.pid}`;
  guard.removeAtEnd(work);
  mkdirSync(work, { recursive: true });
  const archives = await download(work, packages, options);
  await unpack(archives, join(work, "root"), stop);
  renameSync(join(work, "root"), root);
  console.log(`${name}: ${archives.length} packages unpacked, nothing installed`);
  return root;
}
