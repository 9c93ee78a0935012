import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

export const ROOT = resolve(import.meta.dirname, "../..");
/** File in a built folder with the hash of its sources. */
const SOURCE_FILE = "source.sha256";
/** Smaller files are not worth a decoder's time. */
const COMPRESSED_FROM_BYTES = 512;
/** Text: pictures are compressed already. */
const COMPRESSED = /\.(?:js|css|html|json|svg|md)$/;

/** Files that the service sends, built once for all that is started from this tree. */
export interface KeptBuild {
  /** Whether `dist/NAME` was built from this tree. */
  isCurrent(): boolean;
  /**
   * Copies the built files into `folder`; rebuilds `dist/NAME` first where it is not current. Absent: `dist/NAME`
   * itself. @throws Error with the builder's message
   */
  provide(folder?: string): void;
}

export interface BuildOptions {
  /** Name of the folder in `dist`. */
  name: string;
  /** Files and folders that it is made of, from the root of the project; the lockfile is always one. */
  sources: readonly string[];
  /** Whether a path below them is left out. */
  isIgnored?(path: string): boolean;
  /** @throws Error with the builder's message */
  make(folder: string): void;
}

function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  if (bytes.length < COMPRESSED_FROM_BYTES || !COMPRESSED.test(path)) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  const compressed = brotliCompressSync(bytes, { params });
  if (compressed.length < bytes.length) writeFileSync(`${path}.br`, compressed);
}

export function keptBuild({ name, sources, isIgnored = () => false, make }: BuildOptions): KeptBuild {
  const kept = join(ROOT, "dist", name);

  function sourceHash(): string {
    const hash = createHash("sha256");
    const paths = ["package-lock.json", ...sources].flatMap((source) => filesIn(join(ROOT, source)));
    for (const path of paths.filter((one) => !isIgnored(one)).sort())
      hash.update(`\0${relative(ROOT, path)}\0`).update(readFileSync(path));
    return hash.digest("hex");
  }

  function isCurrent(): boolean {
    const file = join(kept, SOURCE_FILE);
    return existsSync(file) && readFileSync(file, "utf8") === sourceHash();
  }

  function build(): void {
    const source = sourceHash();
    // A process that reads meanwhile finds the old folder or the new one, complete; or, for a moment, no folder.
    const made = `${kept}-new-${process.pid}`;
    const old = `${kept}-old-${process.pid}`;
    try {
      make(made);
      for (const path of filesIn(made)) compress(path);
      writeFileSync(join(made, SOURCE_FILE), source);
      if (existsSync(kept)) renameSync(kept, old);
      // Another build of the same tree may have put its own there.
      if (!isCurrent()) renameSync(made, kept);
    } finally {
      for (const folder of [made, old]) rmSync(folder, { recursive: true, force: true });
    }
  }

  return {
    isCurrent,
    provide(folder = kept) {
      if (!isCurrent()) build();
      if (folder !== kept) cpSync(kept, folder, { recursive: true });
    },
  };
}
