import { parse } from "csv-parse/sync";
import { CR, type Dialect, isSimple, LF, QUOTE } from "./dialect.ts";
import { fieldsOf } from "./field.ts";
import { findLines, lineAt } from "./lines.ts";
import { CsvProblemError } from "./problems.ts";
import { createRecordScanner } from "./scan.ts";

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none. Rules: record-finder.ts, which finds where
 * records begin and end. Throws when a quote is not closed, which the scanner has refused before.
 *
 * csv-parse reads records with quotes by the usual rules. It does not know the other dialects, which are read by `fieldsOf`, nor is
 * it asked for records without quotes: it takes ten times as long, 60 ms for the samples of a list, four delimiters being tried.
 */
export function parseRecords(bytes: Buffer, dialect: Dialect): string[][] {
  const records: string[][] = [];
  const quoted = new Map<number, SameWidth>();
  const isUsual = isSimple(dialect) && dialect.quotes === undefined;
  let count = 0;
  const bounds = { emailColumn: -1, recordBytes: bytes.length, columns: bytes.length + 1 };
  const scanner = createRecordScanner({ ...dialect, ...bounds }, (start, end, columns) => {
    count += 1;
    if (isUsual) addRecord(bytes.subarray(start, end), columns);
  });
  const problem = scanner.push(bytes) ?? scanner.end();
  if (problem !== undefined) throw new CsvProblemError(problem);
  if (!isUsual) return readByLines(bytes, dialect, count);
  parseQuoted(quoted, records, dialect.delimiter);
  return records;

  function addRecord(record: Buffer, columns: number): void {
    if (!record.includes(QUOTE)) return void records.push(textOf(record).split(dialect.delimiter));
    const same = quoted.get(columns) ?? { places: [], pieces: [] };
    same.places.push(records.push([]) - 1);
    same.pieces.push(record);
    quoted.set(columns, same);
  }
}

function readByLines(bytes: Buffer, dialect: Dialect, count: number): string[][] {
  const lines = findLines(bytes, { ...dialect, emailColumn: -1 }, count);
  return Array.from({ length: lines.count }, (_, number) => fieldsOf(lineAt(lines, number), dialect));
}

interface SameWidth {
  /** Index of each record among all. */
  places: number[];
  pieces: Buffer[];
}

/** Without the end of its line. */
function textOf(record: Buffer): string {
  let end = record.length;
  if (record[end - 1] === LF) end -= 1;
  if (record[end - 1] === CR) end -= 1;
  return record.toString("latin1", 0, end);
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
