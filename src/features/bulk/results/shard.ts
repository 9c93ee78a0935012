import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Verdict } from "../../../verification/verdict/table.ts";
import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import { templatedResultOf } from "../../verify/batch/fill-rows.ts";
import type { CellStyle } from "../analysis/layout.ts";
import type { RowBuffer } from "../analysis/row-buffer.ts";
import { RowResult, renderCells } from "./result-cells.ts";
import { encodeTemplated, isTemplatedPart, readTemplated, UnknownShardForm } from "./templated-part.ts";
import { TemplatedRows } from "./templated-rows.ts";

/**
 * A shard: the results of a chunk's rows that have a result of their own; rows that copy another are in no shard. A *patch*
 * is a shard of the chunk's rows that had to wait.
 *
 * Gzipped frames, one for each row: its offset in the chunk (u16), its verdict (u8), the bytes of its cells and of its JSON
 * (u32 each), all big-endian. Then the cells of RESULT_COLUMNS in the form of the results, each with its delimiter before
 * it, and the result as JSON. So joining shards needs no parsing or rendering.
 *
 * Templated rows, whose results are filled templates (verify/batch/fill-rows.ts) come before the frames, in a part of their own
 * (templated-part.ts). That takes a tenth of the bytes, so that a small shard is stored without gzip.
 */
export const VERDICTS: readonly Verdict[] = ["valid", "invalid", "risky", "unknown"];

/** No address of a template has one of them. */
const USUAL_DELIMITERS: ReadonlySet<string> = new Set([",", ";", "\t", "|"]);

/** The least that zlib takes for a piece. */
const PIECE_BYTES_MIN = 64;
/** A gzip file ends with the bytes it holds unzipped (RFC 1952). */
const SIZE_BYTES = 4;

const HEAD_BYTES = 2 + 1 + 4 + 4;

/** Forms that are still to come begin with a byte from here on, which neither frames nor gzip files nor texts do. */
const FORM_MARK_MIN = 0xf0;

/** A row's own result that fills no template, and the row's index in its chunk, from 0. */
export interface OwnResult {
  offset: number;
  result: VerificationResult;
}

/** A stored result: a place in a larger buffer. A part of it is cut out when it is read. */
export class StoredResult extends RowResult {
  readonly verdict: Verdict;
  /** From `csvAt` its cells, from `jsonAt` to `end` its JSON. */
  readonly bytes: Buffer;
  readonly csvAt: number;
  readonly jsonAt: number;
  readonly end: number;

  constructor(verdict: Verdict, bytes: Buffer, csvAt: number, jsonAt: number, end: number) {
    super();
    this.verdict = verdict;
    this.bytes = bytes;
    this.csvAt = csvAt;
    this.jsonAt = jsonAt;
    this.end = end;
  }

  writeCells(to: RowBuffer): void {
    to.part(this.bytes, this.csvAt, this.jsonAt);
  }

  writeMembers(to: RowBuffer): void {
    to.part(this.bytes, this.jsonAt + 1, this.end);
  }
}

/**
 * The results in shards of a chunk, by the row's offset in it. Memory: the frames, and four bytes for each row that a chunk
 * may have.
 */
export interface Shard {
  /** Results. */
  readonly size: number;
  get(offset: number): RowResult | undefined;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Results over LIMITS.results.resultBytes. */
export class ResultsTooLarge extends Error {
  override name = "ResultsTooLarge";
  /** Offsets of the rows whose results are too large. */
  readonly offsets: ReadonlySet<number>;
  constructor(offsets: ReadonlySet<number>) {
    super(`${offsets.size} results of a chunk are too large`);
    this.offsets = offsets;
  }
}

/** null: it is too large. */
function frameOf(offset: number, result: VerificationResult, style: CellStyle): Buffer | null {
  const csv = renderCells(result, style);
  const json = JSON.stringify(result);
  const csvBytes = csv.length;
  const jsonBytes = Buffer.byteLength(json);
  if (csvBytes + jsonBytes > LIMITS.results.resultBytes) return null;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + csvBytes + jsonBytes);
  frame.writeUInt16BE(offset, 0);
  frame.writeUInt8(VERDICTS.indexOf(result.verdict), 2);
  frame.writeUInt32BE(csvBytes, 3);
  frame.writeUInt32BE(jsonBytes, 7);
  frame.write(csv, HEAD_BYTES, "latin1");
  frame.write(json, HEAD_BYTES + csvBytes);
  return frame;
}

/**
 * @param rows in any order, each offset once, LIMITS.bulk.rowsPerLargeChunk at most
 * @param templated further rows
 * @throws ResultsTooLarge, which names all results that are too large; they are rare, since verification limits the parts
 *   of a result
 */
export async function encodeShard(
  rows: readonly OwnResult[],
  style: CellStyle,
  templated = new TemplatedRows(),
): Promise<Buffer> {
  const hasTemplated = templated.size > 0 && USUAL_DELIMITERS.has(style.delimiter);
  const framed = hasTemplated ? rows : [...rows, ...resultsOf(templated)];
  const parts = hasTemplated ? [encodeTemplated(templated, style, VERDICTS)] : [];
  const tooLarge = new Set<number>();
  for (const { offset, result } of framed) {
    const frame = frameOf(offset, result, style);
    if (frame === null) tooLarge.add(offset);
    else parts.push(frame);
  }
  if (tooLarge.size > 0) throw new ResultsTooLarge(tooLarge);
  const content = hasTemplated && parts[1] === undefined ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (hasTemplated && content.length <= LIMITS.results.plainShardBytes) return content;
  // The fastest level: shards are read once or twice, and soon.
  return compress(content, { level: 1 });
}

function resultsOf(templated: TemplatedRows): OwnResult[] {
  const own: OwnResult[] = [];
  templated.each((offset, row) => own.push({ offset, result: templatedResultOf(row) }));
  return own;
}

/** The result of the frame at `at`. */
function resultAt(frames: Buffer, at: number): StoredResult {
  const csvAt = at + HEAD_BYTES;
  const jsonAt = csvAt + frames.readUInt32BE(at + 3);
  const end = jsonAt + frames.readUInt32BE(at + 7);
  return new StoredResult(VERDICTS[frames.readUInt8(at + 2)] as Verdict, frames, csvAt, jsonAt, end);
}

/** @throws UnknownShardForm */
function requireKnownForm(content: Buffer): void {
  const [mark = 0] = content;
  if (mark >= FORM_MARK_MIN && !isTemplatedPart(content))
    throw new UnknownShardForm(`a shard that begins with ${mark} cannot be read`);
}

/** @throws UnknownShardForm; Error when the content is not what `encodeShard` wrote */
function readContent(content: Buffer): Shard {
  requireKnownForm(content);
  if (!isTemplatedPart(content)) return readFrames(content, 0);
  const templated = readTemplated(content, VERDICTS);
  return templated.end === content.length
    ? templated
    : joinShards([templated, readFrames(content, templated.end)]);
}

/** @param from where the first of the frames is @throws Error when they are not what `encodeShard` wrote */
function readFrames(frames: Buffer, from: number): Shard {
  /** 1 + the position of each row's frame; 0: the row has none. */
  const places = new Uint32Array(LIMITS.bulk.rowsPerLargeChunk);
  let size = 0;
  let at = from;
  while (at < frames.length) {
    if (frames.length - at < HEAD_BYTES) throw new Error("a shard ends within a frame's head");
    const offset = frames.readUInt16BE(at);
    if (VERDICTS[frames.readUInt8(at + 2)] === undefined || places[offset] !== 0)
      throw new Error(`a shard has a frame of offset ${offset} that cannot be`);
    const end = at + HEAD_BYTES + frames.readUInt32BE(at + 3) + frames.readUInt32BE(at + 7);
    if (end > frames.length) throw new Error("a shard ends within a frame");
    places[offset] = at + 1;
    size += 1;
    at = end;
  }
  return {
    size,
    get(offset) {
      const place = places[offset] ?? 0;
      return place === 0 ? undefined : resultAt(frames, place - 1);
    },
  };
}

/** A shard and its patches, in the order in which they were written: a row is in one of them. */
export function joinShards(shards: readonly Shard[]): Shard {
  const [only] = shards;
  if (only !== undefined && shards.length === 1) return only;
  return {
    size: shards.reduce((sum, shard) => sum + shard.size, 0),
    get(offset) {
      for (let i = shards.length - 1; i >= 0; i--) {
        const found = shards[i]?.get(offset);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/**
 * Bytes to unzip at a time: the whole size and one byte more. So the content comes in one piece without a copy, and takes
 * one round trip to another thread. A wrong size at the end of `content` costs no more than shardBytes.
 */
function pieceBytes(content: Uint8Array): number {
  const { buffer, byteOffset, length } = content;
  const size =
    length < SIZE_BYTES ? 0 : Buffer.from(buffer, byteOffset, length).readUInt32LE(length - SIZE_BYTES);
  return Math.max(PIECE_BYTES_MIN, Math.min(size, LIMITS.results.shardBytes) + 1);
}

/**
 * Reads a shard, by the offset of the row in its chunk.
 * @throws UnknownShardForm when its first byte or its version is of a newer build; Error when `encodeShard` did not write
 *   it, or it is over LIMITS.results.shardBytes
 */
export async function decodeShard(content: Uint8Array): Promise<Shard> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  requireKnownForm(bytes);
  if (isTemplatedPart(bytes)) return readContent(bytes);
  return readContent(
    await decompress(content, {
      maxOutputLength: LIMITS.results.shardBytes,
      chunkSize: pieceBytes(content),
    }),
  );
}
