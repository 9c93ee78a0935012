import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Verdict } from "../../check/verdict/table.ts";
import { LIMITS } from "../../core/limits.ts";
import type { VerificationResult } from "../verify/verification-result.ts";
import type { CellStyle } from "./layout.ts";
import { renderCells } from "./result-cells.ts";

/**
 * A shard: what the rows of a chunk came to that have a result of their own; rows that copy another are in none. A *patch*
 * is a shard of those rows of a chunk that had to wait.
 *
 * Gzipped frames, one for each row: its offset in the chunk (u16), its verdict (u8), the bytes of its cells and of its JSON
 * (u32 each), all big-endian; the cells of RESULT_COLUMNS as the results will have them, each with its delimiter before it,
 * and the result as JSON. So whoever joins shards parses and renders nothing.
 */
export const VERDICTS: readonly Verdict[] = ["valid", "invalid", "risky", "unknown"];

/** Inflated at a time: each piece is a way to another thread and back. */
const INFLATED_BYTES = 262_144;

const HEAD_BYTES = 2 + 1 + 4 + 4;

/** A row's own result, and where the row stands in its chunk, counted from 0. */
export interface OwnResult {
  offset: number;
  result: VerificationResult;
}

/** A result as it is kept: parts of a larger buffer. */
export interface StoredResult {
  verdict: Verdict;
  /** The cells of RESULT_COLUMNS, each with its delimiter before it; UTF-8. */
  csv: Buffer;
  /** The result as JSON; UTF-8. */
  json: Buffer;
}

export type Shard = ReadonlyMap<number, StoredResult>;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Results over LIMITS.results.resultBytes. */
export class ResultsTooLarge extends Error {
  override name = "ResultsTooLarge";
  /** Of the rows whose results they are. */
  readonly offsets: ReadonlySet<number>;
  constructor(offsets: ReadonlySet<number>) {
    super(`${offsets.size} results of a chunk are too large`);
    this.offsets = offsets;
  }
}

/** null: it is too large. */
function frameOf({ offset, result }: OwnResult, style: CellStyle): Buffer | null {
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
 * @param rows in any order, each offset once, LIMITS.bulk.rowsPerChunk at most
 * @throws ResultsTooLarge, naming all of them; what verifies bounds its parts, so there are hardly ever any
 */
export async function encodeShard(rows: readonly OwnResult[], style: CellStyle): Promise<Buffer> {
  const frames: Buffer[] = [];
  const tooLarge = new Set<number>();
  for (const row of rows) {
    const frame = frameOf(row, style);
    if (frame === null) tooLarge.add(row.offset);
    else frames.push(frame);
  }
  if (tooLarge.size > 0) throw new ResultsTooLarge(tooLarge);
  // The fastest level: shards are read once or twice, and soon.
  return compress(Buffer.concat(frames), { level: 1 });
}

/** @throws Error when the frames are not what `encodeShard` wrote */
function readFrames(frames: Buffer): Shard {
  const shard = new Map<number, StoredResult>();
  let at = 0;
  while (at < frames.length) {
    if (frames.length - at < HEAD_BYTES) throw new Error("a shard ends within a frame's head");
    const offset = frames.readUInt16BE(at);
    const verdict = VERDICTS[frames.readUInt8(at + 2)];
    const csvAt = at + HEAD_BYTES;
    const jsonAt = csvAt + frames.readUInt32BE(at + 3);
    const end = jsonAt + frames.readUInt32BE(at + 7);
    if (verdict === undefined || offset >= LIMITS.bulk.rowsPerChunk || shard.has(offset))
      throw new Error(`a shard has a frame of offset ${offset} that cannot be`);
    if (end > frames.length) throw new Error("a shard ends within a frame");
    shard.set(offset, { verdict, csv: frames.subarray(csvAt, jsonAt), json: frames.subarray(jsonAt, end) });
    at = end;
  }
  return shard;
}

/**
 * By the offset of the row in its chunk.
 * @throws Error when it is not what `encodeShard` wrote, or over LIMITS.results.shardBytes
 */
export async function decodeShard(content: Uint8Array): Promise<Shard> {
  return readFrames(
    await decompress(content, {
      maxOutputLength: LIMITS.results.shardBytes,
      chunkSize: INFLATED_BYTES,
    }),
  );
}
