import { fieldValue } from "./field.ts";
import { createRecordScanner } from "./scan.ts";

const QUOTE = 0x22;
const QUOTE_CHAR = '"';
const LINE_END = /\r\n|[\r\n]/;
const CR = 0x0d;
const LF = 0x0a;

/**
 * The records of whole records' bytes as they stand there, without their ends, latin1. Blank lines are none. Where there
 * is no quote, which is most often so, a line is a record; else the scanner finds them.
 * @throws Error when a quote is not closed, which the analysis has refused before
 */
export function splitLines(bytes: Buffer, delimiter: string): string[] {
  const text = bytes.toString("latin1");
  if (!bytes.includes(QUOTE)) return text.split(LINE_END).filter((line) => line !== "");
  const lines: string[] = [];
  const bounds = { recordBytes: bytes.length, columns: bytes.length + 1 };
  const scanner = createRecordScanner({ delimiter, emailColumn: -1, ...bounds }, (start, end) => {
    lines.push(text.slice(start, endOfContent(bytes, start, end)));
  });
  const broken = scanner.push(bytes) ?? scanner.end();
  if (broken !== undefined) throw new Error(broken.detail);
  return lines;
}

/** Where the record's end of line begins, if it has one. */
function endOfContent(bytes: Buffer, start: number, end: number): number {
  if (end > start && bytes[end - 1] === LF)
    return end - 1 > start && bytes[end - 2] === CR ? end - 2 : end - 1;
  return end > start && bytes[end - 1] === CR ? end - 1 : end;
}

/** The fields of a record that `splitLines` gives: what `parseRecords` reads there, several times sooner. */
export function fieldsOf(line: string, delimiter: string): string[] {
  if (!line.includes(QUOTE_CHAR)) return line.split(delimiter);
  const fields: string[] = [];
  for (let from = 0; ; ) {
    const end = endOfField(line, from, delimiter);
    fields.push(fieldValue(line.slice(from, end)));
    if (end === line.length) return fields;
    from = end + 1;
  }
}

/** The field of column `column`, counted from 0; "" of a record that is too short to have one. */
export function fieldAt(line: string, delimiter: string, column: number): string {
  if (line.includes(QUOTE_CHAR)) return fieldsOf(line, delimiter)[column] ?? "";
  let from = 0;
  for (let skipped = 0; skipped < column; skipped += 1) {
    const end = line.indexOf(delimiter, from);
    if (end < 0) return "";
    from = end + 1;
  }
  const end = line.indexOf(delimiter, from);
  return end < 0 ? line.slice(from) : line.slice(from, end);
}

/** A quote opens only at the start of a field; what follows the closing one goes on to the delimiter. */
function endOfField(line: string, from: number, delimiter: string): number {
  let at = from;
  if (line[at] === QUOTE_CHAR) {
    at += 1;
    for (;;) {
      const quote = line.indexOf(QUOTE_CHAR, at);
      if (quote < 0) return line.length;
      at = quote + 1;
      if (line[at] !== QUOTE_CHAR) break;
      at += 1;
    }
  }
  const end = line.indexOf(delimiter, at);
  return end < 0 ? line.length : end;
}

/** The records of whole records' bytes, fields as latin1: what `parseRecords` gives. */
export function splitRecords(bytes: Buffer, delimiter: string): string[][] {
  return splitLines(bytes, delimiter).map((line) => fieldsOf(line, delimiter));
}
