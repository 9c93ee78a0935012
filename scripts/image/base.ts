import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Guard } from "../embedded/guard.ts";
import { unpackPackages } from "../embedded/packages.ts";

const run = promisify(execFile);
const NPM_TIMEOUT_MS = 600_000;
/** Packages of Debian's minimal system that our steps and Node.js need; the image's base has these and a few more. */
const SYSTEM = [
  ...["base-files", "base-passwd", "bash", "coreutils", "dash", "debianutils", "diffutils", "findutils"],
  ...["grep", "gzip", "hostname", "libc6", "libc-bin", "libstdc++6", "mawk", "perl-base", "sed", "tar"],
];
/** Beside the base: the suite and the bench would fetch them, and nothing is fetched in there. */
const FOR_TESTS = ["redis-server", "wrk", "util-linux"];
const EMPTY_FILES = ["etc/resolv.conf", "etc/hosts"];

export interface BaseOptions {
  cacheDir: string;
  guard: Guard;
  stop: AbortSignal;
  say(line: string): void;
}

/** Parses the tag of the base image, such as `node:24-trixie-slim`. @throws Error for another form */
export function readBase(image: string): { node: string; release: string } {
  const [, node, release] = /^node:(\d+)-([a-z]+)-slim(?:@sha256:[0-9a-f]{64})?$/.exec(image) ?? [];
  if (node === undefined || release === undefined)
    throw new Error(`the base is ${image}: only node:MAJOR-RELEASE-slim can be put together here`);
  return { node, release };
}

/** npm as this machine has it, with its settings. */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const path = process.env.npm_execpath;
  // npm's own Node.js: that which runs this may have been fetched (scripts/run).
  const node = process.env.npm_node_execpath ?? process.execPath;
  const [program, first] = path?.endsWith(".js") ? [node, [path]] : ["npm", []];
  try {
    const { stdout } = await run(program, [...first, ...args], { cwd, timeout: NPM_TIMEOUT_MS });
    return stdout.trim();
  } catch (error) {
    // The registry's address may be private to this machine.
    const message = String((error as { stderr?: string }).stderr ?? error).replaceAll(
      /https?:\/\/\S+/g,
      "<registry>",
    );
    throw new Error(`npm ${args[0]} failed: ${message.trim().split("\n").slice(0, 10).join("\n")}`);
  }
}

const QUIET = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

/** What a package's scripts would have made of an unpacked system: users, files to mount over, the link to awk. */
function settle(root: string): void {
  const masters = join(root, "usr/share/base-passwd");
  for (const name of ["passwd", "group"]) cpSync(join(masters, `${name}.master`), join(root, "etc", name));
  for (const name of EMPTY_FILES) if (!existsSync(join(root, name))) writeFileSync(join(root, name), "");
  mkdirSync(join(root, "root"), { recursive: true });
  const awk = join(root, "usr/bin/awk");
  if (!existsSync(awk)) symlinkSync("mawk", awk);
}

/** Node.js and npm where the official image has them, in a folder of their own; fetched the first time. */
async function nodeLayer(major: string, { cacheDir, guard, say }: BaseOptions): Promise<string> {
  const layer = join(cacheDir, `node-${major}-${process.arch}`);
  if (existsSync(layer)) return layer;
  say(`fetching Node.js ${major} and npm, as npm has them`);
  const work = `${layer}.${process.pid}`;
  guard.removeAtEnd(work);
  const fetched = join(work, "fetched");
  mkdirSync(fetched, { recursive: true });
  writeFileSync(join(fetched, "package.json"), "{}");
  const binary = `node-linux-${process.arch}`;
  await npm(["install", ...QUIET, `${binary}@${major}`, "npm@11"], fetched);
  const local = join(work, "layer/usr/local");
  mkdirSync(join(local, "lib/node_modules"), { recursive: true });
  mkdirSync(join(local, "bin"));
  cpSync(join(fetched, "node_modules", binary, "bin/node"), join(local, "bin/node"));
  renameSync(join(fetched, "node_modules/npm"), join(local, "lib/node_modules/npm"));
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
  if (!existsSync(layer)) renameSync(join(work, "layer"), layer);
  rmSync(work, { recursive: true });
  return layer;
}

/**
 * The base image's parts, without an image registry: from the distribution's packages and npm.
 * @returns folders, the first on top
 * @throws Error when they are unavailable
 */
export async function putBaseTogether(image: string, options: BaseOptions): Promise<string[]> {
  const { node, release } = readBase(image);
  const system = await unpackPackages(`image-${release}`, [...SYSTEM, ...FOR_TESTS], { ...options, release });
  settle(system);
  return [await nodeLayer(node, options), system];
}

/**
 * Has this machine's npm fetch all packages of the lockfile into its cache, for a build without a registry.
 * @returns folder of the cache, and URL of the registry that filled it
 */
export async function fillNpmCache(
  context: string,
  work: string,
): Promise<{ cache: string; registry: string }> {
  const folder = join(work, "packages-fetched");
  mkdirSync(folder);
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    writeFileSync(join(folder, name), readFileSync(join(context, name)));
  await npm(["ci", "--prefer-offline", "--include=dev", "--include=optional", ...QUIET], folder);
  const [cache, registry] = await Promise.all([
    npm(["config", "get", "cache"], folder),
    npm(["config", "get", "registry"], folder),
  ]);
  rmSync(folder, { recursive: true });
  return { cache, registry };
}
