import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import type { Guard } from "./guard.ts";
import { privateApt } from "./private-apt.ts";

const run = promisify(execFile);
const OS_RELEASE = "/etc/os-release";
const APT_TIMEOUT_MS = 180_000;

export interface UnpackedProgram {
  binary: string;
  /** Folders for LD_LIBRARY_PATH. */
  libraries: string[];
}

/** A program as the distribution packages it. */
export interface DebianProgram {
  /** Name of the package. */
  name: string;
  /** Path of its program, from the root. */
  path: string;
}

/** Packages that the program needs and this system has not: `name=version`, out of a simulated installation. */
async function missingPackages(name: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const args = ["--simulate", "install", name];
  const { stdout } = await run("apt-get", args, { env, timeout: APT_TIMEOUT_MS });
  return [...stdout.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)/gm)].map(
    ([, found, version]) => `${found}=${version}`,
  );
}

function libraryFolders(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((folder) => readdirSync(folder).some((name) => name.includes(".so")));
}

/**
 * Names the system by id and version, e.g. `debian-12`, for the folder of unpacked packages: those of another version may
 * not run with its libraries.
 *
 * @param osRelease content of /etc/os-release
 */
export function distributionName(osRelease: string): string {
  const { ID = "linux", VERSION_ID, VERSION_CODENAME } = parseEnv(osRelease);
  // Debian's testing has no number.
  return `${ID}-${VERSION_ID ?? VERSION_CODENAME ?? "rolling"}`.replaceAll(/[^A-Za-z0-9._-]/g, "_");
}

function distribution(): string {
  return distributionName(existsSync(OS_RELEASE) ? readFileSync(OS_RELEASE, "utf8") : "");
}

/** Where a program is unpacked in `folder`; once it is there, it is whole. */
export const unpackedFolder = (folder: string, as: string): string => join(folder, `${as}-${distribution()}`);

/** Another run may have been faster; its folder holds the same. */
function moveUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/**
 * Unpacks a program from the distribution's packages, with the libraries that this system lacks, into a folder below
 * `folder`; later calls for the same version reuse it. Downloads with private apt folders and `dpkg-deb`, as root or
 * not. Nothing on the system changes.
 *
 * @param as name of its folder, before the distribution's name
 * @throws Error when the packages are unavailable (no network, no such package).
 */
export async function unpackProgram(
  program: DebianProgram,
  as: string,
  { folder, guard, say }: { folder: string; guard: Guard; say(line: string): void },
): Promise<UnpackedProgram> {
  const root = unpackedFolder(folder, as);
  if (!existsSync(root)) {
    say(`no ${program.name} is installed: unpacking the distribution's package into ${folder}`);
    const work = `${root}.${process.pid}`;
    guard.removeAtEnd(work);
    try {
      await download(program, work, guard);
      moveUnlessThere(join(work, "root"), root);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return { binary: join(root, program.path), libraries: libraryFolders(root) };
}

async function download({ name, path }: DebianProgram, work: string, guard: Guard): Promise<void> {
  for (const part of ["packages", "root"]) mkdirSync(join(work, part), { recursive: true });
  const env = privateApt(work, guard, "system");
  await run("apt-get", ["-qq", "update"], { env, timeout: APT_TIMEOUT_MS });
  const packages = await missingPackages(name, env);
  await run("apt-get", ["-qq", "download", ...packages], {
    cwd: join(work, "packages"),
    env,
    timeout: APT_TIMEOUT_MS,
  });
  for (const file of readdirSync(join(work, "packages")))
    await run("dpkg-deb", ["-x", join(work, "packages", file), join(work, "root")]);
  if (!existsSync(join(work, "root", path))) throw new Error(`the packages hold no ${name}`);
}
