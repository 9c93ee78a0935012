import { parse } from "csv-parse/sync";
import { createRecordScanner } from "./scan.ts";

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none. Rules: scan.ts, which finds where records
 * begin and end. Throws when a quote is not closed, which the scanner has refused before.
 *
 * csv-parse makes an error of each record that is as wide as the first is not, even when it is told to let that pass:
 * it costs more than reading the record. So records of one width are read together.
 */
export function parseRecords(bytes: Buffer, delimiter: string): string[][] {
  const widths = widthsOf(bytes, delimiter);
  if (widths.size <= 1) return parseAll(bytes, delimiter);
  const records: string[][] = [];
  for (const { places, pieces } of widths.values()) {
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

/** The records by how many columns they have; none when the bytes end within quotes. */
function widthsOf(bytes: Buffer, delimiter: string): Map<number, SameWidth> {
  const widths = new Map<number, SameWidth>();
  let place = 0;
  const bounds = { recordBytes: bytes.length, columns: bytes.length + 1 };
  const scanner = createRecordScanner({ delimiter, emailColumn: -1, ...bounds }, (start, end, columns) => {
    const same = widths.get(columns) ?? { places: [], pieces: [] };
    same.places.push(place);
    same.pieces.push(bytes.subarray(start, end));
    widths.set(columns, same);
    place += 1;
  });
  return (scanner.push(bytes) ?? scanner.end()) ? new Map() : widths;
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
