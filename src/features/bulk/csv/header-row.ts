import { chooseColumn } from "../columns/choose-column.ts";
import { addressWeight, looksLikeAddress } from "../columns/column-evidence.ts";
import { namesAddresses } from "../columns/header-meaning.ts";

/** Maximum lines above a header, and maximum cells that are examined for it. */
export const LINES_ABOVE = 30;
const CELLS_LOOKED_AT = 4_000;

/** The start of a table among the records of a sample. */
export interface TableStart {
  /** null: the columns have no names. */
  header: number | null;
  firstRow: number;
}

const filledCells = (record: readonly string[]): number => record.filter((cell) => cell.trim() !== "").length;

export function isComment(record: readonly string[]): boolean {
  return record[0]?.startsWith("#") === true;
}

/** A line of dashes, as programs draw around tables and under headers: `----+-----`, `|---|:--|`, `-----,----`. */
export function isRule(record: readonly string[]): boolean {
  return record.every((cell) => /^[\s+|:=-]*$/.test(cell)) && record.some((cell) => /---|===/.test(cell));
}

/** True for a text that could name a column: it has a letter, and is not a malformed address. */
function isLabel(value: string): boolean {
  return /[A-Za-z\x80-\xff]/.test(value) && !value.includes("@");
}

/**
 * All records above have not the shape of the table that begins with this one: they are comments, or fewer of their cells
 * are filled. One column has no shape.
 */
function isBelowTitles(records: readonly string[][], at: number): boolean {
  const filled = filledCells(records[at] ?? []);
  return records
    .slice(0, at)
    .every(
      (above) => isComment(above) || filledCells(above) < filled || (filled === 1 && filledCells(above) <= 1),
    );
}

/** The first record above the first bare address that names a column of addresses. */
function namedHeader(records: readonly string[][], end: number): number | undefined {
  let cells = 0;
  for (let at = 0; at < end && cells < CELLS_LOOKED_AT; at++) {
    const record = records[at] ?? [];
    cells += record.length;
    if (record.some(namesAddresses) && !record.some(looksLikeAddress) && isBelowTitles(records, at))
      return at;
  }
  return undefined;
}

/** Below titles of one cell each nothing but labels: a row of data with an empty address looks much the same. */
function isSurelyBelowTitles(records: readonly string[][], at: number): boolean {
  const record = records[at] ?? [];
  if (at === 0) return true;
  if (filledCells(record) < 2 || !record.every((cell) => cell.trim() === "" || isLabel(cell))) return false;
  return records.slice(0, at).every((above) => isComment(above) || filledCells(above) <= 1);
}

/** A record of labels, over a column that holds addresses; it may be that of `emailColumn`. */
function isLabelled(records: readonly string[][], at: number, emailColumn: number | undefined): boolean {
  const record = records[at] ?? [];
  if (record.some(looksLikeAddress) || (isComment(record) && record.length === 1)) return false;
  const rows = records.slice(at + 1);
  const columns = emailColumn === undefined ? addressColumns(rows) : [emailColumn];
  return columns.some(
    (column) => isLabel(record[column] ?? "") && rows.some((row) => looksLikeAddress(row[column] ?? "")),
  );
}

function addressColumns(rows: readonly string[][]): number[] {
  return chooseColumn({ header: null, rows, whole: true }).candidates.map(({ index }) => index);
}

/**
 * Finds the start of the table in a sample: its header, or its first row. Titles and comments may be above it. A record
 * with a bare address is always a row.
 */
export function findTableStart(records: readonly string[][], emailColumn: number | undefined): TableStart {
  const firstAddress = records.findIndex((record) => record.some((cell) => addressWeight(cell) === 1));
  const end = Math.min(LINES_ABOVE, firstAddress < 0 ? records.length : firstAddress);
  const named = namedHeader(records, end);
  if (named !== undefined) return { header: named, firstRow: named + 1 };
  // The names are directly above the first address, below titles; else in the first record, above rows without an address.
  for (const at of end > 0 ? [end - 1, 0] : [0])
    if (isSurelyBelowTitles(records, at) && isLabelled(records, at, emailColumn))
      return { header: at, firstRow: at + 1 };
  let firstRow = 0;
  while (firstRow < end && isComment(records[firstRow] ?? [])) firstRow += 1;
  return { header: null, firstRow };
}
