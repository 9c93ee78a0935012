import { randomBytes } from "node:crypto";
import { close, constants, openSync, read, readSync, unlinkSync, writev } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * Temporary files. A file loses its name as soon as it exists. So it disappears with its process, however that ends, and no
 * other process can open it.
 */
export interface Scratch {
  /**
   * @param bytesMax maximum length of a file
   * @throws Error naming the directory, when no file can be created there
   */
  open(bytesMax: number): ScratchFile;
}

/** Operations may overlap as long as they touch different bytes. */
export interface ScratchFile {
  /**
   * Writes all of `parts`, one after another.
   * @throws ScratchFull
   */
  write(parts: readonly Uint8Array[], position: number): Promise<void>;
  /** Fills `into`. @throws Error when the file ends before that */
  read(into: Uint8Array, position: number): Promise<void>;
  /** The same, synchronously: for small, frequent reads of bytes that were most likely just written. */
  readNow(into: Uint8Array, position: number): void;
  /** Resolves when running operations have ended. Later ones throw. May be called again. */
  close(): Promise<void>;
}

/** The file has no room for the write. */
export class ScratchFull extends Error {
  /** The disk, or the process's share of it, is full, which may pass; else the file has reached its bound, which will not. */
  readonly disk: boolean;
  constructor(message: string, disk: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ScratchFull";
    this.disk = disk;
  }
}

const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const writeParts = promisify(writev);
const readPart = promisify(read);
const closeFile = promisify(close);

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}

/** Unlinks the file as soon as it exists: synchronous, so that a kill could come between only within microseconds. */
function openUnnamed(directory: string): number {
  const path = join(directory, `rcpt-${randomBytes(16).toString("hex")}`);
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    unlinkSync(path);
    return fd;
  } catch (error) {
    const message = `cannot create a scratch file in ${directory} (SCRATCH_DIR): ${codeOf(error)}`;
    // The cause is this machine's: another may do the work that needs the file.
    throw new ScratchFull(message, true, error);
  }
}

/** The rest of `parts` after their first `written` bytes. */
function partsAfter(parts: readonly Uint8Array[], written: number): Uint8Array[] {
  const left: Uint8Array[] = [];
  let before = written;
  for (const part of parts) {
    if (before < part.length) left.push(before === 0 ? part : part.subarray(before));
    before = Math.max(0, before - part.length);
  }
  return left;
}

async function writeAll(fd: number, parts: readonly Uint8Array[], position: number): Promise<void> {
  let left = partsAfter(parts, 0);
  let at = position;
  while (left.length > 0) {
    const { bytesWritten } = await writeParts(fd, left, at);
    if (bytesWritten === 0) throw new Error("nothing could be written to a scratch file");
    at += bytesWritten;
    left = partsAfter(left, bytesWritten);
  }
}

async function readAll(fd: number, into: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await readPart(fd, into, done, into.length - done, position + done);
    if (bytesRead === 0) throw new Error("a scratch file ends too early");
    done += bytesRead;
  }
}

/** The bytes that all files of a process may have together. */
function createBudget(bytesMax: number) {
  let taken = 0;
  return {
    /** @throws ScratchFull */
    take(bytes: number): void {
      if (taken + bytes > bytesMax)
        throw new ScratchFull(`the scratch files of this process are limited to ${bytesMax} bytes`, true);
      taken += bytes;
    },
    giveBack(bytes: number): void {
      taken -= bytes;
    },
  };
}

/**
 * @param directory on a disk: an in-memory file system would use this machine's memory
 * @param totalBytesMax of all files that are open at once
 */
export function createScratch(directory: string, totalBytesMax = Number.POSITIVE_INFINITY): Scratch {
  const budget = createBudget(totalBytesMax);
  return {
    open(bytesMax) {
      const fd = openUnnamed(directory);
      /** Upper bound of the file's size so far, in bytes. */
      let extent = 0;
      /** A descriptor closed during an operation may belong to another file by then. */
      const underWay = new Set<Promise<void>>();
      let closing: Promise<void> | null = null;

      function begin(operation: () => Promise<void>): Promise<void> {
        if (closing !== null) return Promise.reject(new Error("the scratch file has been closed"));
        const running = operation();
        underWay.add(running);
        const end = () => underWay.delete(running);
        running.then(end, end);
        return running;
      }

      async function write(parts: readonly Uint8Array[], position: number): Promise<void> {
        const bytes = parts.reduce((sum, part) => sum + part.length, 0);
        if (position + bytes > bytesMax)
          throw new ScratchFull(`a scratch file is limited to ${bytesMax} bytes`, false);
        if (position + bytes > extent) {
          budget.take(position + bytes - extent);
          extent = position + bytes;
        }
        try {
          await writeAll(fd, parts, position);
        } catch (error) {
          if (!NO_ROOM.has(codeOf(error))) throw error;
          throw new ScratchFull(`no space is left in ${directory} (SCRATCH_DIR)`, true, error);
        }
      }

      return {
        write: (parts, position) => begin(() => write(parts, position)),
        read: (into, position) => begin(() => readAll(fd, into, position)),
        readNow(into, position) {
          if (closing !== null) throw new Error("the scratch file has been closed");
          for (let done = 0; done < into.length; ) {
            const bytes = readSync(fd, into, done, into.length - done, position + done);
            if (bytes === 0) throw new Error("a scratch file ends too early");
            done += bytes;
          }
        },
        close() {
          closing ??= Promise.allSettled(underWay)
            .then(() => closeFile(fd))
            .finally(() => budget.giveBack(extent));
          return closing;
        },
      };
    },
  };
}
