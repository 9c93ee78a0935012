import type { Dialect } from "./dialect.ts";
import { fieldsOf } from "./field.ts";
import { findLines, lineAt } from "./lines.ts";
import { createRecordScanner } from "./scan.ts";

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none. Throws when a quote is not closed, which the scanner
 * (scan.ts) has refused before.
 */
export function parseRecords(bytes: Buffer, dialect: Dialect): string[][] {
  let count = 0;
  const options = { ...dialect, emailColumn: -1, recordBytes: bytes.length, columns: bytes.length + 1 };
  const scanner = createRecordScanner(options, () => {
    count += 1;
  });
  const problem = scanner.push(bytes) ?? scanner.end();
  if (problem !== undefined) throw new Error(problem.detail);
  const lines = findLines(bytes, { ...dialect, emailColumn: -1 }, count);
  return Array.from({ length: lines.count }, (_, number) => fieldsOf(lineAt(lines, number), dialect));
}
