const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;

/** The records of some bytes as places in them: a string for each would cost more to collect than to write anew. */
export interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
  /** Of each record its first byte, and the one behind its last, without its end. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/**
 * Where the records of whole records' bytes stand, without their ends. Blank lines are none. It reads as the scanner does
 * (scan.ts), which besides bounds records and finds a field.
 * @param rows records that are expected: of more the first `rows` + 1 are found
 * @throws Error when a quote is not closed, which the analysis has refused before
 */
export function findLines(bytes: Buffer, delimiter: string, rows: number): Lines {
  const from = new Uint32Array(rows + 1);
  const to = new Uint32Array(rows + 1);
  const delimiterByte = delimiter.charCodeAt(0);
  const { length } = bytes;
  let count = 0;
  let start = 0;
  while (start < length && count <= rows) {
    const end = endOfRecord(bytes, start, delimiterByte);
    if (end > start) {
      from[count] = start;
      to[count] = end;
      count += 1;
    }
    start = bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
  }
  return { bytes, count, from, to };
}

/** Where the end of its line begins. A quote opens only at the start of a field. */
function endOfRecord(bytes: Buffer, start: number, delimiter: number): number {
  const { length } = bytes;
  let at = start;
  let isFieldStart = true;
  while (at < length) {
    const byte = bytes[at] as number;
    if (byte === LF || byte === CR) return at;
    if (byte === QUOTE && isFieldStart) at = endOfQuoted(bytes, at);
    else {
      at += 1;
      isFieldStart = byte === delimiter;
      continue;
    }
    isFieldStart = false;
  }
  return at;
}

/** Behind the quote that closes the one at `open`; two stand for one. */
function endOfQuoted(bytes: Buffer, open: number): number {
  let at = open + 1;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) throw new Error("a quote of a chunk's rows is not closed");
    if (bytes[quote + 1] !== QUOTE) return quote + 1;
    at = quote + 2;
  }
}

/** The record of this number as text, latin1: plain.ts tells its fields. */
export function lineAt({ bytes, from, to }: Lines, number: number): string {
  return bytes.toString("latin1", from[number], to[number]);
}
