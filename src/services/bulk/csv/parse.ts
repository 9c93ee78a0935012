import type { Dialect } from "./dialect.ts";
import { fieldsOf } from "./field.ts";
import { findLines, lineAt } from "./lines.ts";
import { countLineEnds } from "./source-text.ts";

/**
 * The records of whole records' bytes, fields as latin1. Blank lines are none.
 * @throws Error when a quote is not closed, which the scanner (scan.ts) has refused before
 */
export function parseRecords(bytes: Buffer, dialect: Dialect): string[][] {
  // The last record may lack its end.
  const lines = findLines(bytes, { ...dialect, emailColumn: -1 }, countLineEnds(bytes) + 1);
  return Array.from({ length: lines.count }, (_, number) => fieldsOf(lineAt(lines, number), dialect));
}
