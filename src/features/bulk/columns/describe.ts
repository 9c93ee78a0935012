import type { CandidateColumn } from "../analysis/layout.ts";
import { toText } from "../csv/field.ts";
import type { ScoredColumn } from "./choose-column.ts";

/** Maximum characters of a column's name, as shown. */
const NAME_CHARS = 200;

/** Columns of addresses that are shown. */
const CANDIDATES_SHOWN = 20;

/** A column's name as text; null: the source names none. */
export function columnName(header: readonly string[] | null, index: number): string | null {
  if (header === null) return null;
  // NUL is the one character that Postgres keeps in no text.
  const name = toText((header[index] ?? "").slice(0, 4 * NAME_CHARS)).replaceAll("\0", "");
  return [...name].slice(0, NAME_CHARS).join("");
}

export function candidateColumns(
  header: readonly string[] | null,
  candidates: readonly ScoredColumn[],
): CandidateColumn[] {
  return candidates.slice(0, CANDIDATES_SHOWN).map(({ index, addresses, distinct }) => ({
    index,
    name: columnName(header, index),
    addresses,
    distinct,
  }));
}
