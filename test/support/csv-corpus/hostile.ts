import { CsvError, parse } from "csv-parse/sync";
import fc from "../properties.ts";

/** Bytes that mean something to a reader of CSV, far more often than chance has them. */
export function hostileBytes(delimiter: string): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(delimiter, '"', "\r", "\n", "\r\n", '""', "\0", " ") },
    {
      weight: 3,
      arbitrary: fc.constantFrom("a", "b@c.de", "\xff", "\xef\xbb\xbf", "é", "\t", ";", ",", "'", "="),
    },
    { weight: 1, arbitrary: fc.string({ unit: latin1, maxLength: 40 }) },
    {
      weight: 1,
      arbitrary: fc.string({ unit: latin1, maxLength: 10 }).map((text) => `${delimiter}"${text}"`),
    },
  );
  return fc
    .array(piece, { maxLength: 60, size: "medium" })
    .map((pieces) => Buffer.from(pieces.join(""), "latin1"));
}

/** Any byte, as the character of its number. */
export const latin1 = fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte));

/** Pieces of these sizes, over and over; a size of 0 is an empty piece, and there is at least one byte a round. */
export function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let i = 0, at = 0; at < bytes.length; i += 1) {
    const size = (sizes[i % sizes.length] ?? 0) || (i % sizes.length === 0 ? 1 : 0);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

/** The records and values that csv-parse reads: the reference for ours. */
export function oracle(bytes: Buffer, delimiter: string): string[][] | "quote_not_closed" {
  try {
    return parse(bytes, {
      delimiter,
      encoding: "latin1",
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
  } catch (error) {
    if (error instanceof CsvError && error.code === "CSV_QUOTE_NOT_CLOSED") return "quote_not_closed";
    throw error;
  }
}
