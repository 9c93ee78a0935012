import { createHash, randomUUID } from "node:crypto";
import { closeSync, createReadStream, openSync, readSync, statSync, writeSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";

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
  md5: string;
  crc32: string;
}

const LENGTH_BYTES = 4;

/** Writes `source` into a new file in `folder`, with back-pressure. The file is removed when the source throws. */
async function stage(folder: string, source: AsyncIterable<Buffer>): Promise<Staged> {
  const path = join(folder, randomUUID());
  const md5 = createHash("md5");
  let crc = 0;
  let size = 0;
  async function* measured() {
    for await (const piece of source) {
      md5.update(piece);
      crc = crc32(piece, crc);
      size += piece.length;
      yield piece;
    }
  }
  // Opened first: a stream still opening when the source throws would make the file after it was removed.
  const file = await open(path, "wx", 0o600);
  try {
    await pipeline(Readable.from(measured(), { objectMode: false }), file.createWriteStream());
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  const crcBytes = Buffer.alloc(4);
  crcBytes.writeUInt32BE(crc);
  return { path, size, md5: md5.digest("hex"), crc32: crcBytes.toString("base64") };
}

/** Stages `source` for `use`, which may make it an object; what it leaves behind is removed. */
export async function withStaged<T>(
  folder: string,
  source: AsyncIterable<Buffer>,
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
  return createReadStream("", { fd: openSync(path, "r"), start, end });
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
