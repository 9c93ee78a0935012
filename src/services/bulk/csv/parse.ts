import { parse } from "csv-parse/sync";

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none. Rules: scan.ts, which finds where records
 * begin and end. Throws when a quote is not closed, which the scanner has refused before.
 */
export function parseRecords(bytes: Buffer, delimiter: string): string[][] {
  return parse(bytes, {
    delimiter,
    encoding: "latin1",
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
}
