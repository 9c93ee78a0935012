import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { loadUserFolders } from "../config/config.ts";
import { DAY_MS } from "../platform/time/clock.ts";
import { writePrivately } from "./account/profile.ts";

/** Longer than a service keeps an upload that is not complete. */
const KEPT_MS = 30 * DAY_MS;

const UploadSchema = v.object({
  uploadId: v.string(),
  /** Key of the job's submission: the same command again, after a lost answer, makes no second job. */
  idempotencyKey: v.string(),
});
type BegunUpload = v.InferOutput<typeof UploadSchema>;

/** The stored progress of an upload that is not a job yet. */
export interface UploadMemory {
  /** The unfinished upload; null: none is recorded. */
  readonly begun: BegunUpload | null;
  readonly idempotencyKey: string;
  /** True when the same command can resume an upload. */
  readonly isKept: boolean;
  keep(uploadId: string): void;
  forget(): void;
}

/** Other files, other options, another service: another upload. */
function nameOf(url: string, path: string, options: unknown): string {
  const { size, mtimeMs, ino, dev } = statSync(path);
  const identity = JSON.stringify([url, realpathSync(path), size, mtimeMs, ino, dev, options]);
  return `${createHash("sha256").update(identity).digest("hex").slice(0, 32)}.json`;
}

function readUpload(path: string): BegunUpload | null {
  try {
    return v.parse(UploadSchema, JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // The file is missing or unreadable: the upload starts from the beginning.
    return null;
  }
}

function prune(folder: string, nowMs: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (changedMs < nowMs - KEPT_MS) rmSync(path, { force: true });
  }
}

/**
 * Remembers the upload of the file at `path` until it is a job, for when the connection breaks or the process ends.
 * @param options of the job
 * @throws Error of the disk
 */
export function rememberUpload(url: string, path: string, options: unknown): UploadMemory {
  const folder = join(loadUserFolders().state, "uploads");
  const file = join(folder, nameOf(url, path, options));
  const begun = readUpload(file);
  const idempotencyKey = begun?.idempotencyKey ?? randomUUID();
  let kept = begun?.uploadId;
  return {
    begun,
    idempotencyKey,
    get isKept() {
      return kept !== undefined;
    },
    keep(uploadId) {
      if (kept === uploadId) return;
      try {
        writePrivately(file, JSON.stringify({ uploadId, idempotencyKey }));
        prune(folder, Date.now());
        kept = uploadId;
      } catch {
        // The home directory is not writable: the upload continues nevertheless.
      }
    },
    forget() {
      if (kept !== undefined) rmSync(file, { force: true });
      kept = undefined;
    },
  };
}
