import { parse } from "csv-parse/sync";
import { createRecordScanner } from "./scan.ts";

const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none. Rules: scan.ts, which finds where records
 * begin and end. Throws when a quote is not closed, which the scanner has refused before.
 *
 * Records without quotes are cut at their delimiters; csv-parse takes ten times as long, 60 ms for the samples of a list, four
 * delimiters being tried. And it makes an error of each record that is as wide as the first is not, even when it is told to let that
 * pass: it costs more than reading the record. So those of one width are read together.
 */
export function parseRecords(bytes: Buffer, delimiter: string): string[][] {
  const found = sorted(bytes, delimiter);
  if (found === null) return parseAll(bytes, delimiter);
  const { records, quoted } = found;
  for (const { places, pieces } of quoted.values()) {
    // Only the last record of all may lack its end, and that is the last of its width too.
    const parsed = parseAll(Buffer.concat(pieces), delimiter);
    for (let i = 0; i < places.length; i += 1) records[places[i] as number] = parsed[i] as string[];
  }
  return records;
}

interface SameWidth {
  /** Where each of the records stands among all. */
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

/** The records without quotes, in their places, and the others by how many columns they have; null: the bytes end within quotes. */
function sorted(bytes: Buffer, delimiter: string) {
  const records: string[][] = [];
  const quoted = new Map<number, SameWidth>();
  const bounds = { recordBytes: bytes.length, columns: bytes.length + 1 };
  const scanner = createRecordScanner({ delimiter, emailColumn: -1, ...bounds }, (start, end, columns) => {
    const record = bytes.subarray(start, end);
    if (!record.includes(QUOTE)) return void records.push(textOf(record).split(delimiter));
    const same = quoted.get(columns) ?? { places: [], pieces: [] };
    same.places.push(records.push([]) - 1);
    same.pieces.push(record);
    quoted.set(columns, same);
  });
  return (scanner.push(bytes) ?? scanner.end()) ? null : { records, quoted };
}

function parseAll(bytes: Buffer, delimiter: string): string[][] {
  return parse(bytes, {
    delimiter,
    encoding: "latin1",
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
}
