import type { CellStyle } from "../analysis/layout.ts";
import { type Dialect, endOfField } from "../csv/dialect.ts";
import { fieldsOf } from "../csv/field.ts";
import { writeValue } from "../csv/write.ts";

/** Separates the values of a row's addresses within a cell. */
const SEPARATOR = ";";
const ESCAPE = "\\";

/**
 * Joins the values of a row's addresses in one of our columns into a cell. A single value is unchanged. In several values,
 * `;` and backslashes get a backslash before them, so that `splitValues` can separate them again (latin1 or text alike).
 */
export function joinValues(values: readonly string[]): string {
  if (values.length === 1) return values[0] as string;
  return values.map((value) => value.replace(/[\\;]/g, "\\$&")).join(SEPARATOR);
}

/** The values of a cell that `joinValues` made of several. */
export function splitValues(cell: string): string[] {
  const values: string[] = [];
  let value = "";
  for (let at = 0; at < cell.length; at++) {
    const character = cell.charAt(at);
    if (character === SEPARATOR) {
      values.push(value);
      value = "";
    } else if (character === ESCAPE) {
      at += 1;
      value += cell.charAt(at);
    } else value += character;
  }
  return [...values, value];
}

/** The cells of several results, each with its delimiter before it, as those of a row that has them all; latin1. */
export function joinCells(results: readonly string[], style: CellStyle): string {
  const values = results.map((cells) => fieldsOf(cells.slice(1), style));
  const columns = Math.max(...values.map(({ length }) => length));
  let text = "";
  for (let column = 0; column < columns; column++)
    text += style.delimiter + writeValue(joinValues(values.map((of) => of[column] ?? "")), style);
  return text;
}

/**
 * Removes the unwanted addresses from a row of assembled results; latin1, without its line end.
 * @param columns number of the list's columns; ours follow them
 * @param isWanted gets the cells of one address
 * @param isSplit true when rows may have several addresses
 * @returns null: none of its addresses is wanted
 */
export function keepWanted(
  line: string,
  columns: number,
  isWanted: (cells: readonly string[]) => boolean,
  dialect: Dialect,
  isSplit: boolean,
): string | null {
  let end = -1;
  for (let column = 0; column < columns; column++) end = endOfField(line, end + 1, dialect);
  const cells = fieldsOf(line.slice(end + 1), dialect);
  const addresses = isSplit ? splitValues(cells[0] ?? "").length : 1;
  if (addresses === 1) return isWanted(cells) ? line : null;
  const values = cells.map(splitValues);
  const kept = Array.from({ length: addresses }, (_, i) => isWanted(values.map((of) => of[i] ?? "")));
  if (!kept.includes(true)) return null;
  const style = { ...dialect, escapeFormulas: false };
  const keptOf = (of: readonly string[]) => joinValues(of.filter((_value, i) => kept[i] === true));
  return line.slice(0, end) + values.map((of) => dialect.delimiter + writeValue(keptOf(of), style)).join("");
}
