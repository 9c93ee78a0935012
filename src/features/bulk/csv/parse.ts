import { parse } from "csv-parse/sync";
import { type Dialect, isSimple } from "./dialect.ts";
import { fieldsOf } from "./field.ts";
import { CsvProblemError } from "./problems.ts";
import { RecordFinder } from "./record-finder.ts";
import { quoteNotClosed } from "./scan-problems.ts";

/**
 * The records of whole records' bytes, fields as latin1. Empty lines are none. RecordFinder finds where records begin and
 * end. Throws when a quote is not closed, which the scanner has refused before.
 *
 * csv-parse reads records with quotes by the usual rules. It does not know the other dialects, which are read by `fieldsOf`, nor is
 * it asked for records without quotes: it takes ten times as long, 60 ms for the samples of a list, four delimiters being tried.
 */
export function parseRecords(bytes: Buffer, dialect: Dialect): string[][] {
  const records: string[][] = [];
  const quoted = new Map<number, SameWidth>();
  const isUsual = isSimple(dialect) && dialect.quotes === undefined;
  const finder = new RecordFinder(dialect, -1);
  for (let at = 0; finder.next(bytes, at, true); at = finder.end) {
    const { from, to, end, fields } = finder;
    const line = bytes.toString("latin1", from, to);
    if (!isUsual || !line.includes('"')) {
      records.push(fieldsOf(line, dialect));
      continue;
    }
    const same = quoted.get(fields) ?? { places: [], pieces: [] };
    same.places.push(records.push([]) - 1);
    same.pieces.push(bytes.subarray(from, end));
    quoted.set(fields, same);
  }
  const { from, openAt } = finder;
  if (openAt >= 0)
    throw new CsvProblemError(quoteNotClosed({ records: records.length, start: from }, from + openAt, {}));
  parseQuoted(quoted, records, dialect.delimiter);
  return records;
}

interface SameWidth {
  /** Index of each record among all. */
  places: number[];
  pieces: Buffer[];
}

/**
 * Fills in the records with quotes. Those of one width are read together. For each record with another width than the
 * first, csv-parse creates an error, even with the option that tolerates it. That costs more than reading the record.
 */
function parseQuoted(quoted: Map<number, SameWidth>, records: string[][], delimiter: string): void {
  for (const { places, pieces } of quoted.values()) {
    // Only the last record of all may lack its end, and that is the last of its width too.
    const parsed: string[][] = parse(Buffer.concat(pieces), {
      delimiter,
      encoding: "latin1",
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
    for (const [i, place] of places.entries()) records[place] = parsed[i] as string[];
  }
}
