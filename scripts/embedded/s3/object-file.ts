import { createHash, randomUUID } from "node:crypto";
import { closeSync, createReadStream, openSync, readSync, statSync, writeSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";

/** What is known of an object or part. Kept behind its bytes in the same file, so that both appear at once. */
export interface ObjectInfo {
  key: string;
  size: number;
  /** Without quotes. */
  etag: string;
  /** base64; null for objects made of parts. */
  crc32: string | null;
  modifiedMs: number;
  contentType: string;
  /** User metadata by lower-case name, without the x-amz-meta- prefix, and content headers to give back. */
  headers: Record<string, string>;
  /** Of an object made of parts: its bytes lie in these files, one after another, not before this. */
  assembled?: { folder: string; parts: PartFile[] };
}

/** A part's file, by its name in the folder of its upload. */
export interface PartFile {
  name: string;
  size: number;
}

/** Bytes in a temporary file, not yet an object. */
export interface Staged {
  path: string;
  size: number;
  /** Made of size and CRC-32, so that a copy has the same, as S3's has: MD5 of all bytes took a third of a CPU's time. */
  etag: string;
  /** base64 */
  crc32: string;
}

/** What is to be staged; its sums are those of all of it once it has been read. */
export interface StagedSource {
  pieces: AsyncIterable<Buffer>;
  sums: { crc32: string };
}

const LENGTH_BYTES = 4;

/** Of one write, about: each is a way to another thread and back, which costs more than the 64 KiB that come at a time. */
const WRITE_BYTES = 1_048_576;
const WRITE_PIECES = 256;
/** Of one read: the same of the way back. */
const READ_BYTES = 262_144;

/** Writes `source` into a new file in `folder`, with back-pressure. The file is removed when the source throws. */
async function stage(folder: string, { pieces, sums }: StagedSource): Promise<Staged> {
  const path = join(folder, randomUUID());
  let size = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;
  const file = await open(path, "wx", 0o600);
  async function flush(): Promise<void> {
    await writeAll(file, held);
    held = [];
    heldBytes = 0;
  }
  try {
    for await (const piece of pieces) {
      size += piece.length;
      held.push(piece);
      heldBytes += piece.length;
      if (heldBytes >= WRITE_BYTES || held.length >= WRITE_PIECES) await flush();
    }
    await flush();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  const etag = createHash("md5").update(`${size} ${sums.crc32}`).digest("hex");
  return { path, size, etag, crc32: sums.crc32 };
}

async function writeAll(file: FileHandle, pieces: readonly Buffer[]): Promise<void> {
  if (pieces.length === 0) return;
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev([...pieces]);
  if (bytesWritten === bytes) return;
  // As on a disk that is nearly full.
  const rest = Buffer.concat(pieces).subarray(bytesWritten);
  for (let at = 0; at < rest.length; ) at += (await file.write(rest, at)).bytesWritten;
}

/** Stages `source` for `use`, which may make it an object; what it leaves behind is removed. */
export async function withStaged<T>(
  folder: string,
  source: StagedSource,
  use: (staged: Staged) => T,
): Promise<T> {
  const staged = await stage(folder, source);
  try {
    return use(staged);
  } finally {
    await rm(staged.path, { force: true });
  }
}

/** Appends `info` to a staged file: `bytes, JSON, length of the JSON`. */
export function seal(staged: Staged, info: ObjectInfo): void {
  const json = Buffer.from(JSON.stringify(info));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  const file = openSync(staged.path, "a");
  try {
    writeSync(file, Buffer.concat([json, length]));
  } finally {
    closeSync(file);
  }
}

export function readInfo(path: string): ObjectInfo {
  const file = openSync(path, "r");
  try {
    const end = statSync(path).size - LENGTH_BYTES;
    const length = Buffer.alloc(LENGTH_BYTES);
    readSync(file, length, 0, LENGTH_BYTES, end);
    const json = Buffer.alloc(length.readUInt32BE());
    readSync(file, json, 0, json.length, end - json.length);
    return JSON.parse(json.toString("utf8")) as ObjectInfo;
  } finally {
    closeSync(file);
  }
}

/**
 * A stream of the bytes `start` to `end`, both included. The file is opened before this returns, so that an object
 * replaced afterwards is still read as it was.
 */
export function readBytes(path: string, start: number, end: number): Readable {
  if (end < start) return Readable.from([]);
  return createReadStream("", { fd: openSync(path, "r"), start, end, highWaterMark: READ_BYTES });
}

/** The same of files that follow one another, each opened when its turn comes: they must stay until then. */
export async function* readParts(
  folder: string,
  parts: readonly PartFile[],
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  let first = 0;
  for (const { name, size } of parts) {
    const from = Math.max(start - first, 0);
    const to = Math.min(end - first, size - 1);
    first += size;
    if (from <= to) yield* readBytes(join(folder, name), from, to);
  }
}
