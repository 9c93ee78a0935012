import { fieldValue } from "./field.ts";

const QUOTE_CHAR = '"';
/** The fields of a record without its end (lines.ts), latin1: what `parseRecords` reads there, several times sooner. */
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
