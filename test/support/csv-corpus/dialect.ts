import { gzipSync } from "node:zlib";
import fc from "../properties.ts";

/**
 * One dialect in which a table can be written as a list. The tests have their own writer: it must not share the
 * service's faults.
 */
export interface Dialect {
  delimiter: string;
  /** Fields that need no quotes: how often they have them. */
  quoting: "minimal" | "all" | "some";
  lineEnd: "\r\n" | "\n" | "\r" | "mixed";
  finalEnd: boolean;
  blankLines: boolean;
  bom: boolean;
  gzip: boolean;
}

export const dialects: fc.Arbitrary<Dialect> = fc.record({
  delimiter: fc.constantFrom(",", ";", "\t", "|"),
  quoting: fc.constantFrom("minimal", "all", "some"),
  lineEnd: fc.constantFrom("\r\n", "\n", "\r", "mixed"),
  finalEnd: fc.boolean(),
  blankLines: fc.boolean(),
  bom: fc.boolean(),
  gzip: fc.boolean(),
});

/** The list as text, without byte order mark. A record of one empty field is `""`: else it would be a blank line. */
export function writeList(rows: readonly (readonly string[])[], dialect: Dialect): string {
  const ends = ["\r\n", "\n", "\r"];
  let text = "";
  for (const [i, row] of rows.entries()) {
    const bare = row.length === 1 && row[0] === "";
    text += row
      .map((value, j) => writeField(value, dialect, bare || (i + j) % 2 === 0))
      .join(dialect.delimiter);
    const end = dialect.lineEnd === "mixed" ? (ends[i % 3] as string) : dialect.lineEnd;
    if (i < rows.length - 1 || dialect.finalEnd) text += dialect.blankLines && i % 2 === 0 ? end + end : end;
  }
  return text;
}

function writeField(value: string, { delimiter, quoting }: Dialect, odd: boolean): string {
  const needed = [delimiter, '"', "\r", "\n"].some((special) => value.includes(special));
  const quoted = needed || quoting === "all" || (quoting === "some" && odd) || (value === "" && odd);
  return quoted ? `"${value.split('"').join('""')}"` : value;
}

/** Content of the stored object: the list with its byte order mark, compressed if the dialect says so. */
export function objectOf(bytes: Buffer, bom: Buffer, { gzip }: Dialect): Buffer {
  const object = Buffer.concat([bom, bytes]);
  return gzip ? gzipSync(object, { level: 1 }) : object;
}
