import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CsvProblemError } from "../problems.ts";
import { type Tolerated, type TrailingZeros, withoutZeros } from "../tolerated.ts";
import { knownBinary } from "./binary.ts";

/** Bytes decompressed at once. */
const GUNZIP_BYTES = 65_536;

export type Utf16 = "utf-16le" | "utf-16be";

/** RFC 1952 §2.3.1. */
export function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/**
 * Decompresses; ends with CsvProblemError when the data are damaged, cut off, followed by others than zeros or more than `maxBytes`.
 * Members that follow one another are one text.
 */
export async function* gunzip(
  input: AsyncGenerator<Buffer>,
  maxBytes: number,
  tolerated: Tolerated,
): AsyncGenerator<Buffer, void, undefined> {
  const unzip = createGunzip({ chunkSize: GUNZIP_BYTES });
  const zeros: TrailingZeros = { before: 0, count: null };
  pipeline(Readable.from(withoutZeros(input, zeros), { objectMode: false }), unzip, () => {});
  let bytes = 0;
  try {
    for await (const piece of unzip as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) {
        const detail = `The file holds more than ${maxBytes} bytes when it is decompressed.`;
        throw new CsvProblemError({ code: "bulk_too_large", detail });
      }
      yield piece;
    }
  } catch (error) {
    if (!isZlibError(error)) throw error;
    throw notDecompressed(whyNot(error));
  }
  // zlib takes a zero after a member for padding. It ends there, without a report about the bytes behind.
  const behind =
    zeros.count === null ? Number.POSITIVE_INFINITY : zeros.before + zeros.count - unzip.bytesWritten;
  if (behind > (zeros.count ?? 0)) throw notDecompressed(NOT_GZIP_BEHIND);
  tolerated.gzipZeros = behind;
}

const NOT_GZIP_BEHIND = "what follows its compressed data is not gzip";

function whyNot({ code, message }: Error & { code: string }): string {
  if (code === "Z_BUF_ERROR") return "it ends too early";
  // The first member begins as gzip, or it would not have come here.
  return message === "incorrect header check" ? NOT_GZIP_BEHIND : "its data are damaged";
}

function isZlibError(error: unknown): error is Error & { code: string } {
  return (
    error instanceof Error && "code" in error && typeof error.code === "string" && /^Z_/.test(error.code)
  );
}

function notDecompressed(why: string): CsvProblemError {
  const detail = `The file begins as gzip, but cannot be decompressed: ${why}.`;
  return new CsvProblemError({ code: "not_readable", detail });
}

/** Which UTF-16 the text is: by its byte order mark, or since it is mostly ASCII, by where its NULs are. */
export function utf16Of(start: Buffer): Utf16 | undefined {
  if (knownBinary(start) !== undefined) return undefined;
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  const nuls = [0, 0];
  const pairs = start.length >> 1;
  for (let i = 0; i < pairs * 2; i += 1) if (start[i] === 0) nuls[i & 1] = (nuls[i & 1] as number) + 1;
  const [even, odd] = nuls as [number, number];
  if (odd * 4 >= pairs && even * 50 <= odd && odd > 0) return "utf-16le";
  if (even * 4 >= pairs && odd * 50 <= even && even > 0) return "utf-16be";
  return undefined;
}

/** UTF-16 to UTF-8; a byte order mark becomes one of UTF-8, half a surrogate pair U+FFFD. An odd last byte is left out. */
export async function* transcoded(
  input: AsyncGenerator<Buffer>,
  encoding: Utf16,
  tolerated: Tolerated,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  for await (const piece of input) {
    bytes += piece.length;
    const text = decoder.decode(piece, { stream: true });
    if (text !== "") yield Buffer.from(text);
  }
  const rest = decoder.decode();
  tolerated.hasOddByte = bytes % 2 === 1;
  if (rest !== "" && !tolerated.hasOddByte) yield Buffer.from(rest);
}
