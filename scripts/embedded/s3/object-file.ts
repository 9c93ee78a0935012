import { createHash, randomUUID } from "node:crypto";
import {
  closeSync,
  createReadStream,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
  writevSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { BodySums, PieceSink } from "./body.ts";

/** Metadata of an object or part. Stored behind its bytes in the same file, so that both appear at once. */
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
  /** For an object made of parts: its bytes are in these files, one after another, and not in this one. */
  assembled?: { folder: string; parts: PartFile[] };
}

/** A part's file, by its name in the folder of its upload. */
export interface PartFile {
  name: string;
  size: number;
}

/** Bytes that are not yet an object: in a temporary file, but for the last of them. */
export interface Staged {
  path: string;
  size: number;
  /**
   * Computed from size and CRC-32, so that a copy has the same ETag, as in S3. MD5 of all bytes took a third of a CPU's
   * time.
   */
  etag: string;
  /** base64 */
  crc32: string;
  /** null: nothing is written yet, and there is no file. */
  file: FileHandle | null;
  rest: readonly Buffer[];
}

/** Passes all pieces to `take`. @returns their checksums */
export type StagedSource = (take: PieceSink) => Promise<BodySums>;

const LENGTH_BYTES = 4;

/**
 * Bytes of one write, about. Each write is a round trip to a thread, which costs more than the 64 KiB that arrive at a
 * time.
 */
const WRITE_BYTES = 1_048_576;
const WRITE_PIECES = 256;
/** Bytes of one read, for the same reason. */
const READ_BYTES = 262_144;

/** Writes pieces to a new file, with back-pressure. Bytes too few for a write are left for `seal`. */
class Staging {
  readonly path: string;
  file: FileHandle | null = null;
  /** The last write, which may be in progress. */
  #flushed: Promise<void> = Promise.resolve();
  size = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(folder: string) {
    this.path = join(folder, randomUUID());
  }

  readonly take: PieceSink = (piece) => {
    this.size += piece.length;
    this.#heldBytes += piece.length;
    this.#held.push(piece);
    if (this.#heldBytes < WRITE_BYTES && this.#held.length < WRITE_PIECES) return null;
    this.#flushed = this.#flush();
    return this.#flushed;
  };

  async #flush(): Promise<void> {
    const pieces = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    this.file ??= await open(this.path, "wx", 0o600);
    await writeAll(this.file, pieces);
  }

  /** Waits for the write of a source that failed: until the file exists it cannot be removed. */
  async close(): Promise<void> {
    await this.#flushed.catch(() => undefined);
    await this.file?.close();
  }

  end({ crc32 }: BodySums): Staged {
    const { path, file, size } = this;
    const etag = createHash("md5").update(`${size} ${crc32}`).digest("hex");
    return { path, size, etag, crc32, file, rest: this.#held };
  }
}

async function writeAll(file: FileHandle, pieces: readonly Buffer[]): Promise<void> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev([...pieces]);
  if (bytesWritten === bytes) return;
  // As on a disk that is nearly full.
  const rest = Buffer.concat(pieces).subarray(bytesWritten);
  for (let at = 0; at < rest.length; ) at += (await file.write(rest, at)).bytesWritten;
}

/** Stages `source` for `use`, which may make it an object. If it does not, the staged file is removed. */
export async function withStaged<T>(
  folder: string,
  source: StagedSource,
  use: (staged: Staged) => T,
): Promise<T> {
  const staging = new Staging(folder);
  try {
    return use(staging.end(await source(staging.take)));
  } finally {
    await staging.close();
    rmSync(staging.path, { force: true });
  }
}

/** Writes the remaining staged bytes, then `info`: the file is `bytes, JSON, length of the JSON`. */
export function seal(staged: Staged, info: ObjectInfo): void {
  const json = Buffer.from(JSON.stringify(info));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  const file = staged.file?.fd ?? openSync(staged.path, "wx", 0o600);
  try {
    writeAllSync(file, [...staged.rest, json, length]);
  } finally {
    if (staged.file === null) closeSync(file);
  }
}

function writeAllSync(file: number, pieces: readonly Buffer[]): void {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const written = writevSync(file, [...pieces]);
  if (written === bytes) return;
  const rest = Buffer.concat(pieces).subarray(written);
  for (let at = 0; at < rest.length; ) at += writeSync(file, rest, at);
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

/** Reads the bytes at once, into one buffer. For small objects: a stream would cost more than the reading. */
export function readNow(path: string, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - start + 1));
  const file = openSync(path, "r");
  try {
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new Error("a file is shorter than what it holds");
      at += read;
    }
  } finally {
    closeSync(file);
  }
  return bytes;
}

/** Locates the bytes `start` to `end` of consecutive files. */
function* placesOf(folder: string, parts: readonly PartFile[], start: number, end: number) {
  let first = 0;
  for (const { name, size } of parts) {
    const from = Math.max(start - first, 0);
    const to = Math.min(end - first, size - 1);
    first += size;
    if (from <= to) yield { path: join(folder, name), from, to };
  }
}

/** Like `readBytes`, for such files. Each is opened when it is reached: they must exist until then. */
export async function* readParts(
  folder: string,
  parts: readonly PartFile[],
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  for (const { path, from, to } of placesOf(folder, parts, start, end)) yield* readBytes(path, from, to);
}

/** As `readNow`, of such files. */
export function readPartsNow(folder: string, parts: readonly PartFile[], start: number, end: number): Buffer {
  const pieces = [...placesOf(folder, parts, start, end)].map(({ path, from, to }) =>
    readNow(path, from, to),
  );
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}
