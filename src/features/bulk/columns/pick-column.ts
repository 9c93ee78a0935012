import type { CandidateColumn } from "../analysis/layout.ts";
import { toText } from "../csv/field.ts";
import { type ChosenBy, chooseColumn, type SampledTable, type ScoredColumn } from "./choose-column.ts";
import { candidateColumns } from "./describe.ts";

/** Column names in an error detail: maximum number, and maximum characters of each. */
const NAMES_SHOWN = 20;
const NAME_CHARS = 40;
/** Candidates in a detail; the error has more. */
const CANDIDATES_IN_DETAIL = 5;

export type PickedColumn =
  | { ok: true; index: number; chosenBy: ChosenBy; candidates: ScoredColumn[] }
  | { ok: false; code: "no_email_column"; detail: string }
  | { ok: false; code: "email_column_ambiguous"; detail: string; candidates: CandidateColumn[] };

/**
 * The column that was asked for, or else the one that is found by evidence.
 * @param first the first record, header or not
 * @param wanted a name or an index
 */
export function pickColumn(
  table: SampledTable,
  first: readonly string[],
  wanted: string | number | undefined,
): PickedColumn {
  const choice = chooseColumn(table);
  const missing = (why: string): PickedColumn => ({
    ok: false,
    code: "no_email_column",
    detail: `${why} ${columnsSeen(first, table.header !== null)}`,
  });
  if (wanted === undefined) {
    if (choice.kind === "chosen") return { ok: true, ...choice };
    if (choice.kind === "ambiguous") return ambiguousColumns(choice.why, table.header, choice.candidates);
    return missing("No column holds email addresses.");
  }
  const { candidates } = choice;
  const indexes = typeof wanted === "number" ? indexesOf(table, wanted) : namedColumns(table.header, wanted);
  if (typeof indexes === "string") return missing(indexes);
  const filled = indexes.filter((index) =>
    candidates.some((one) => one.index === index && one.addresses > 0),
  );
  const [index, second] = filled.length > 0 ? filled : indexes.slice(0, 1);
  if (index === undefined) return missing(`No column is named ${shownColumnName(String(wanted))}.`);
  if (second === undefined) return { ok: true, index, chosenBy: "option", candidates };
  const same = candidates.filter((one) => filled.includes(one.index));
  return ambiguousColumns(
    `${same.length} columns are named ${shownColumnName(String(wanted))}.`,
    table.header,
    same,
  );
}

/** The refusal that names the candidates. */
export function ambiguousColumns(
  why: string,
  header: readonly string[] | null,
  found: readonly ScoredColumn[],
): PickedColumn & { ok: false; code: "email_column_ambiguous" } {
  const candidates = candidateColumns(header, found);
  const told = candidates.slice(0, CANDIDATES_IN_DETAIL).map(({ index, name, addresses, distinct }) => {
    const called = name === null ? `column ${index}` : `${shownColumnName(name)} (column ${index})`;
    return `${called} has ${addresses} addresses in the first rows, ${distinct} of them different`;
  });
  const detail = `${why} ${told.join("; ")}. Columns count from 0. Say which one by email_column.`;
  return { ok: false, code: "email_column_ambiguous", detail, candidates };
}

function indexesOf({ header, rows }: SampledTable, wanted: number): number[] | string {
  const width = rows.reduce((most, { length }) => Math.max(most, length), header?.length ?? 0);
  if (Number.isInteger(wanted) && wanted >= 0 && wanted < width) return [wanted];
  return `Column ${wanted}, counted from 0, is not there: the first rows have ${width} columns.`;
}

/** A column's name in the form for comparison with the requested one: "E-Mail Adresse" and "email_adresse" are equal. */
function normaliseName(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** Columns with exactly the requested name; if there are none, those with the same letters and digits. */
function namedColumns(header: readonly string[] | null, wanted: string): number[] | string {
  if (header === null) return `In a file without a header no column is named ${shownColumnName(wanted)}.`;
  const names = header.map(toText);
  const matching = (matches: (name: string) => boolean) =>
    names.flatMap((name, index) => (matches(name) ? [index] : []));
  const exact = matching((name) => name === wanted);
  if (exact.length > 0) return exact;
  const sought = normaliseName(wanted);
  const loose = sought === "" ? [] : matching((name) => normaliseName(name) === sought);
  return loose.length > 0 ? loose : `No column is named ${shownColumnName(wanted)}.`;
}

function columnsSeen(first: readonly string[], isHeader: boolean): string {
  const cells = first.slice(0, NAMES_SHOWN).map((cell) => shownColumnName(toText(cell)));
  const more = first.length > NAMES_SHOWN ? ` and ${first.length - NAMES_SHOWN} more` : "";
  return `The file's ${isHeader ? "columns are" : "first row is"} ${cells.join(", ")}${more}.`;
}

/** A column's name for a detail. */
export function shownColumnName(name: string): string {
  const characters = [...name.replace(/\p{C}/gu, " ")];
  const cut =
    characters.length > NAME_CHARS ? `${characters.slice(0, NAME_CHARS).join("")}…` : characters.join("");
  return `"${cut}"`;
}

/** True when the record looks like a header with the requested column. */
export function hasColumnNamed(record: readonly string[], wanted: string): boolean {
  return typeof namedColumns(record, wanted) !== "string";
}
