import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { toText } from "../csv/field.ts";

/** Longer than any address (RFC 5321 §4.5.3.1.3) with usual text around it. */
const CELL_CHARS = 400;

/** Also in full width, in UTF-8. */
const AT = /@|\xef\xbc\xa0/;

/** An `@` between what may be parts of an address: a broken one, or several, or one among other text. */
const HOLDS_ADDRESS = /[^\x00-\x20@<>(),;:"]@[^\x00-\x20@<>(),;:".]+\.[^\x00-\x20@<>(),;:"]/;

/** Characters that part the columns of tables whose delimiter is not given: such a cell is a whole row. */
const ODD_DELIMITER = /[\^~\x01\x1f]/;

/** Counts of a column's cells in the sampled rows. */
export interface ColumnEvidence {
  /** Index of the column, from 0. */
  index: number;
  /** Cells that are not empty. */
  filled: number;
  /** Cells that hold one address, or several. */
  addresses: number;
  /** Cells of these with text around the address: `Jane <jane@example.com>`. */
  wrapped: number;
  /** Different addresses; case does not count. */
  distinct: number;
  /** Filled cells without an address, but with something similar to one. */
  nearly: number;
  /** Addresses by row of the sample, to compare columns; rows without an address are absent. */
  keys: ReadonlyMap<number, string>;
}

/** The address of a cell (latin1), as a key for comparison; null: the cell has no address. */
function readCell(value: string): { key: string; isWrapped: boolean } | null {
  if (value.length > CELL_CHARS || !AT.test(value)) return null;
  const text = toText(value);
  const reading = readAddresses(text);
  if (reading.kind === "several") return { key: reading.texts.join(" ").toLowerCase(), isWrapped: true };
  if (reading.kind !== "one") return null;
  return { key: reading.address.normalised.toLowerCase(), isWrapped: reading.text !== text.trim() };
}

/** Weight of a cell (latin1) as an address: 1 for a bare one, 0.5 for one with text around it. */
export function addressWeight(value: string): 0 | 0.5 | 1 {
  const read = readCell(value);
  if (read === null) return 0;
  return read.isWrapped ? 0.5 : 1;
}

export function looksLikeAddress(value: string): boolean {
  return readCell(value) !== null;
}

function evidenceOf(index: number, rows: readonly string[][]): ColumnEvidence {
  const keys = new Map<number, string>();
  let filled = 0;
  let wrapped = 0;
  let nearly = 0;
  for (const [row, cells] of rows.entries()) {
    const value = cells[index] ?? "";
    if (value.trim() === "") continue;
    filled += 1;
    const read = readCell(value);
    if (read === null) {
      const text = value.slice(0, CELL_CHARS);
      if (HOLDS_ADDRESS.test(text) && !ODD_DELIMITER.test(text)) nearly += 1;
      continue;
    }
    keys.set(row, read.key);
    if (read.isWrapped) wrapped += 1;
  }
  const distinct = new Set(keys.values()).size;
  return { index, filled, addresses: keys.size, wrapped, distinct, nearly, keys };
}

/** @param columns minimum number of columns; rows may be wider */
export function columnEvidence(rows: readonly string[][], columns: number): ColumnEvidence[] {
  const width = rows.reduce((most, { length }) => Math.max(most, length), columns);
  return Array.from({ length: width }, (_, index) => evidenceOf(index, rows));
}

/**
 * True when hardly any address is different: at most a tenth of 20 or more, or one address at least five times. Such
 * addresses belong to the contacts' owners rather than to the contacts.
 */
export function areFew(distinct: number, addresses: number): boolean {
  return addresses >= 20 ? distinct * 10 <= addresses : addresses >= 5 && distinct === 1;
}

/** Wherever the one column has an address, the other has the same: a copy, as of logins that are addresses. */
export function isCopy(copy: ColumnEvidence, of: ColumnEvidence): boolean {
  for (const [row, key] of copy.keys) if (of.keys.get(row) !== key) return false;
  return true;
}
