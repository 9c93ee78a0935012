// A Node.js out of the registry's own packages. Plain JavaScript: it must work before anything is installed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmCi } from "./child.mjs";

const TRIAL_MS = 30_000;
/** A fetch takes seconds; what is older was left behind by one that was killed. */
const LEFTOVER_AGE_MS = 3_600_000;

/** Lets npm fetch one package by its hash: it refuses anything else under that name and version. */
function writeLockfile(folder, name, { version, integrity }) {
  const dependencies = { [name]: version };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const entry = { version, integrity: integrity[process.arch] };
  const packages = { "": { dependencies }, [`node_modules/${name}`]: entry };
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
  );
}

/** @throws Error when the binary does not run here, or is not that version */
function tryOut(binary, version) {
  const { error, stdout, stderr } = spawnSync(binary, ["-p", "process.versions.node"], {
    encoding: "utf8",
    timeout: TRIAL_MS,
  });
  if (error === undefined && stdout.trim() === version) return;
  const [reason = ""] = (error?.message ?? stderr).trim().split("\n");
  throw new Error(`Node.js ${version} was fetched and does not run here: ${reason}`);
}

/** Another run may have been faster; its folder holds the same. */
function moveUnlessThere(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

function removeLeftovers(cacheDir, name) {
  for (const entry of readdirSync(cacheDir)) {
    const path = join(cacheDir, entry);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (entry.startsWith(`${name}.`) && age > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Unpacks the binary of a release of Node.js into a folder of `cacheDir` the first time; several runs may do so at
 * once.
 * @param release an entry of RELEASES
 * @param options `say(line)`, called once before a download, and `onChild(child)`, called with the npm process
 * @returns path of the binary
 * @throws Error when it is unavailable, or does not run here; `outcome` is npm's exit code or the signal that ended it
 */
export async function fetchNode(release, { cacheDir, say, onChild }) {
  const name = `node-linux-${process.arch}`;
  const folder = join(cacheDir, `${name}-${release.version}`);
  const binary = join(folder, "bin/node");
  if (existsSync(binary)) return binary;
  say(`rcpt: fetching Node.js ${release.version} from the npm registry into ${folder}`);
  const work = `${folder}.${process.pid}`;
  mkdirSync(join(work, "ready/bin"), { recursive: true });
  removeLeftovers(cacheDir, `${name}-${release.version}`);
  try {
    writeLockfile(work, name, release);
    const { outcome, lines } = await npmCi(work, ["--ignore-scripts"], onChild);
    if (outcome !== 0) {
      const message = `${lines}\nnpm could not fetch Node.js ${release.version}`.trim();
      throw Object.assign(new Error(message), { outcome });
    }
    const unpacked = join(work, "node_modules", name);
    tryOut(join(unpacked, "bin/node"), release.version);
    for (const file of ["bin/node", "LICENSE"]) renameSync(join(unpacked, file), join(work, "ready", file));
    moveUnlessThere(join(work, "ready"), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return binary;
}
