import { LIMITS } from "../../../config/limits/limits.ts";
import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { toText } from "./field.ts";
import { writeValue } from "./write.ts";

/**
 * Texts that consist of addresses only, several on a line: `a@x.test; b@x.test, c@x.test`. They are lists, not tables, and
 * are converted to one address a line. LIST_DELIMITER is the delimiter of the converted text.
 */

/** The dialect of the converted text, for writing and reading. */
export const LIST_DELIMITER = ",";
const STYLE = { delimiter: LIST_DELIMITER, escapeFormulas: false };

const BOM = "\xef\xbb\xbf";

/** Lines, and bytes, by which a text is judged. */
const LINES_JUDGED = 1_000;
const BYTES_JUDGED = 65_536;

/**
 * From this number of columns, with addresses in all, lines are wrapped lists. Fewer columns may be the addresses of one
 * contact and of others.
 */
const TABLE_COLUMNS = 4;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const OPEN = 0x3c;
const CLOSE = 0x3e;

/** Ends of lines, and what parts addresses. */
const SEPARATORS = new Set([...";,|\t\n\r"].map((character) => character.charCodeAt(0)));

/** Cuts text at separators outside quotes and angle brackets. Quotes and brackets end with their line. */
class Cutter {
  #isQuoted = false;
  #isAngled = false;

  /** @returns whether the byte is a separator */
  take(byte: number): boolean {
    if (byte === LF || byte === CR) {
      this.#isQuoted = false;
      this.#isAngled = false;
      return true;
    }
    if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
    else if (!this.#isQuoted && (byte === OPEN || byte === CLOSE)) this.#isAngled = byte === OPEN;
    return !this.#isQuoted && !this.#isAngled && SEPARATORS.has(byte);
  }
}

/** The addresses of a piece of text (latin1), as given; null: it has other text. */
function addressesOf(piece: string): string[] | null {
  const reading = readAddresses(toText(piece));
  if (reading.kind === "one") return [piece.trim()];
  if (reading.kind === "several") return reading.texts.map((text) => Buffer.from(text).toString("latin1"));
  return null;
}

interface Line {
  pieces: number;
  addresses: number;
  separators: string;
}

/** null: it holds something else than addresses. */
function judgeLine(text: string): Line | null {
  const cutter = new Cutter();
  const line: Line = { pieces: 0, addresses: 0, separators: "" };
  const judge = (piece: string): boolean => {
    line.pieces += 1;
    if (piece.trim() === "") return true;
    const found = addressesOf(piece);
    line.addresses += found?.length ?? 0;
    return found !== null;
  };
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (!cutter.take(text.charCodeAt(at))) continue;
    if (!judge(text.slice(from, at))) return null;
    const separator = text[at] ?? "";
    if (!line.separators.includes(separator)) line.separators += separator;
    from = at + 1;
  }
  return judge(text.slice(from)) ? line : null;
}

/**
 * The text is plainly such a list: one line, or lines that differ in their number of addresses, or have many. Lines of two or
 * three each may be a table of contacts and owners.
 * @param whole the head is all of it
 */
export function isAddressList(head: Buffer, whole: boolean): boolean {
  const text = head.toString("latin1", 0, BYTES_JUDGED).replace(BOM, "");
  // The text may have been cut within an address.
  const end =
    whole && head.length <= BYTES_JUDGED
      ? text.length
      : Math.max(...[..."\n\r;,|\t"].map((separator) => text.lastIndexOf(separator)));
  const lines: Line[] = [];
  for (const one of text.slice(0, Math.max(0, end)).split(/[\r\n]+/)) {
    if (one.trim() === "") continue;
    const line = judgeLine(one);
    if (line === null) return false;
    if (lines.push(line) === LINES_JUDGED) break;
  }
  const [first] = lines;
  if (first === undefined || !lines.some(({ addresses }) => addresses > 1)) return false;
  const isTable =
    lines.length > 1 &&
    first.pieces < TABLE_COLUMNS &&
    lines.every(
      ({ pieces, addresses, separators }) =>
        pieces === first.pieces && addresses <= pieces && separators.length < 2,
    );
  return !isTable;
}

/** A row for each address in the piece. Other text becomes one row, which is judged like any cell. */
function rowsOf(piece: string): string {
  const value = piece.trim();
  if (value === "") return "";
  const rows = value.includes(" ") ? (addressesOf(value) ?? [value]) : [value];
  return rows.map((row) => `${writeValue(row, STYLE)}\n`).join("");
}

/** The list as text of an address a line. Memory: a piece of the text, and an address. */
export async function* listRows(text: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const cutter = new Cutter();
  let rest = "";
  let isFirst = true;
  for await (const piece of text) {
    let rows = "";
    let from = 0;
    const characters = piece.toString("latin1");
    for (let at = 0; at < characters.length; at++) {
      if (!cutter.take(characters.charCodeAt(at))) continue;
      const found = rest + characters.slice(from, at);
      rows += isFirst && found.startsWith(BOM) ? BOM + rowsOf(found.slice(BOM.length)) : rowsOf(found);
      isFirst = false;
      rest = "";
      from = at + 1;
    }
    rest += characters.slice(from);
    // Longer than any row may be: the reader of rows says so.
    if (rest.length > LIMITS.bulk.recordBytes) {
      rows += rest;
      rest = "";
    }
    if (rows !== "") yield Buffer.from(rows, "latin1");
  }
  const last = isFirst ? rest.replace(BOM, "") : rest;
  if (last.trim() !== "") yield Buffer.from(rowsOf(last), "latin1");
}
