import type { JobProblem, SourceColumns, SourceWarning } from "../analysis/layout.ts";
import { toUtf8 } from "../csv/field.ts";
import { isContradicted, isSuspect, type ScoredColumn } from "./choose-column.ts";
import { areFew } from "./column-evidence.ts";
import { headerMeaning } from "./header-meaning.ts";
import { ambiguousColumns } from "./pick-column.ts";

/** A source that was read to its end. */
export interface ReadTable {
  columns: SourceColumns;
  /** Candidates from the first rows. */
  candidates: readonly ScoredColumn[];
  layout: { columns: number; header: readonly string[] | null; encoding?: string };
}

/**
 * Checks the choice of a column, made from the first rows, against all rows.
 * @param counts rows with an address in the chosen column, and the number of different addresses
 * @returns null: the choice is right
 */
export function recheckColumn(
  { columns, candidates, layout }: ReadTable,
  counts: { addresses: number; distinct: number },
): JobProblem | null {
  const { index, name, chosen_by: chosenBy } = columns.email;
  if (chosenBy === "option") return null;
  const header = layout.header?.map((column) => toUtf8(column, layout.encoding)) ?? null;
  const meaning = name === null ? "none" : headerMeaning(header?.[index] ?? "");
  const others = candidates.filter((candidate) => candidate.index !== index);
  const isDoubtful =
    isSuspect(meaning, layout.columns, counts) || others.some((other) => isContradicted(counts, other));
  if (!isDoubtful) return null;
  const why = `All ${counts.addresses} rows with an address in the column have one of the same ${counts.distinct}, as owners of contacts do.`;
  const { code, detail, candidates: told } = ambiguousColumns(why, header, candidates);
  return { code, detail, candidates: told };
}

/** Warnings about a column with few different addresses, unless the submitter chose it. */
export function repeatWarnings(
  { columns, layout }: ReadTable,
  counts: { addresses: number; distinct: number },
): SourceWarning[] {
  if (
    columns.email.chosen_by === "option" ||
    layout.columns < 2 ||
    !areFew(counts.distinct, counts.addresses)
  )
    return [];
  const detail = `The ${counts.addresses} addresses of the column are only ${counts.distinct} different ones. If these are not the contacts', say the column by email_column.`;
  return [{ code: "few_different_addresses", detail }];
}
