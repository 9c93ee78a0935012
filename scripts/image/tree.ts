import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { LISTS_FILE } from "./bundle.ts";
import { renderLicenses } from "./licenses.ts";
import { choosePackages, readLock, type Target } from "./packages.ts";

/** Most bytes that we add to the base image: the code and its packages. */
export const ADDED_BYTES_MAX = 60_000_000;
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
/** Files without which the service does not run. */
const BUILT = ["src/main.js", LISTS_FILE];
const PAPERS = ["LICENSE", "THIRD_PARTY_NOTICES.md"];
const LICENSES = "LICENSES.txt";
const HEALTH = "scripts/image/health.mjs";

export interface TreeOptions {
  /** The project, with node_modules from its lockfile. */
  root: string;
  /** Folder with the output of `npm run build`. */
  dist: string;
  /** Folder to be made: `/app` of the image. */
  out: string;
  target: Target;
}

/** Bytes of all files below a folder, or of one file. */
export function bytesOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function copyPackages({ root, out, target }: TreeOptions): void {
  for (const { place, files } of choosePackages(root, readLock(root), target)) {
    const from = join(root, place);
    if (files === null) {
      // Nested packages are places of their own.
      const isOwn = (path: string) => !path.slice(from.length).includes("/node_modules");
      cpSync(from, join(out, place), { recursive: true, filter: isOwn });
      continue;
    }
    for (const file of files) {
      if (!existsSync(join(from, file))) throw new Error(`${place} has no ${file}, which is read`);
      cpSync(join(from, file), join(out, place, file), { recursive: true });
    }
  }
}

/** Copies the fields of package.json that Node.js and people need: that files are modules, and the version. */
function copyManifest({ root, out }: TreeOptions): void {
  const { name, version, license, type } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = { name, version, private: true, license, type };
  writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Makes a folder readable for all users, and writable for its owner only. User 10001 reads it, and the files of a
 * checkout may be private (`umask 077`).
 */
function openToAll(path: string): void {
  chmodSync(path, FOLDER_MODE);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) openToAll(inside);
    else if (entry.isFile()) chmodSync(inside, statSync(inside).mode & 0o100 ? FOLDER_MODE : FILE_MODE);
  }
}

/**
 * Assembles the contents of `/app` in the image: the code, those files of packages that it reads, the health check and
 * the licences.
 *
 * @throws Error when a file is missing, or when the total exceeds `ADDED_BYTES_MAX`
 */
export function assembleTree(options: TreeOptions): void {
  const { root, dist, out } = options;
  for (const file of BUILT)
    if (!existsSync(join(dist, file))) throw new Error(`there is no ${file} in ${dist}: npm run build`);
  mkdirSync(dirname(out), { recursive: true });
  cpSync(dist, join(out, "dist"), { recursive: true, filter: (path) => path !== join(dist, LICENSES) });
  copyPackages(options);
  copyManifest(options);
  cpSync(join(root, HEALTH), join(out, "health.mjs"));
  for (const paper of PAPERS) cpSync(join(root, paper), join(out, paper));
  writeFileSync(join(out, LICENSES), renderLicenses(root, readLock(root)));
  openToAll(out);
  const bytes = bytesOf(join(out, "dist")) + bytesOf(join(out, "node_modules"));
  if (bytes > ADDED_BYTES_MAX)
    throw new Error(`dist and node_modules have ${bytes} bytes, more than ${ADDED_BYTES_MAX}`);
}

/** The tree's parts and packages with their megabytes, largest first, against the bound. */
export function sizeTable(out: string): string[] {
  const packages = join(out, "node_modules");
  const names = readdirSync(packages).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(packages, name)).map((part) => `${name}/${part}`) : [name],
  );
  const dist = { what: "dist", bytes: bytesOf(join(out, "dist")) };
  const rows = names.map((name) => ({ what: `node_modules/${name}`, bytes: bytesOf(join(packages, name)) }));
  const sum = [dist, ...rows].reduce((total, { bytes }) => total + bytes, 0);
  const large = rows.sort((a, b) => b.bytes - a.bytes).slice(0, LARGEST_SHOWN);
  const rest = sum - [dist, ...large].reduce((total, { bytes }) => total + bytes, 0);
  return [
    ...[dist, ...large, { what: `${rows.length - large.length} more packages`, bytes: rest }].map(line),
    line({ what: `dist + node_modules, of ${inMb(ADDED_BYTES_MAX)} MB at most`, bytes: sum }),
  ];
}

const LARGEST_SHOWN = 8;
const inMb = (bytes: number) => (bytes / 1e6).toFixed(1);
const line = ({ what, bytes }: { what: string; bytes: number }) => `${inMb(bytes).padStart(8)} MB  ${what}`;
