import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { writeApiTypes } from "./types.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PORTAL = join(ROOT, "portal");
const KEPT = join(ROOT, "dist/portal");
/** What a build was made from, in the folder that it made. */
const SOURCE_FILE = "source.sha256";
/** Smaller files are not worth a decoder's time. */
const COMPRESSED_FROM_BYTES = 512;

/** Of all that a build reads: the portal's files and the versions of its packages. */
function sourceHash(): string {
  const hash = createHash("sha256").update(readFileSync(join(ROOT, "package-lock.json")));
  const files = readdirSync(PORTAL, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) => !/^(node_modules|\.types-)/.test(relative(PORTAL, path)) && !path.endsWith("schema.d.ts"),
    );
  for (const path of files.sort()) hash.update(`\0${relative(PORTAL, path)}\0`).update(readFileSync(path));
  return hash.digest("hex");
}

/** Whether `folder`, or `dist/portal`, has the portal of this tree. */
export function hasPortal(folder: string = KEPT): boolean {
  const file = join(folder, SOURCE_FILE);
  return existsSync(file) && readFileSync(file, "utf8") === sourceHash();
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  if (bytes.length < COMPRESSED_FROM_BYTES) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  const compressed = brotliCompressSync(bytes, { params });
  if (compressed.length < bytes.length) writeFileSync(`${path}.br`, compressed);
}

/** Builds the portal into `folder`, each file beside itself as brotli. @throws Error with what Vite said */
function buildInto(folder: string): void {
  const source = sourceHash();
  writeApiTypes();
  // A process that reads the folder meanwhile finds the old one or the new one, whole.
  const made = `${folder}-new-${process.pid}`;
  const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");
  const args = [vite, "build", PORTAL, "--outDir", made, "--emptyOutDir", "--logLevel", "warn"];
  try {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`vite: ${stderr}`);
    for (const entry of readdirSync(made, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) compress(join(entry.parentPath, entry.name));
    writeFileSync(join(made, SOURCE_FILE), source);
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/**
 * Puts the portal of this tree into `folder`: built in `dist/portal` where that is another's, and copied from there.
 * @throws Error with what Vite said
 */
export function providePortal(folder: string = KEPT): void {
  if (!hasPortal(KEPT)) buildInto(KEPT);
  if (folder !== KEPT) cpSync(KEPT, folder, { recursive: true });
}
