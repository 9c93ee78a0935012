import { areFew, type ColumnEvidence, columnEvidence, isCopy } from "./column-evidence.ts";
import { type HeaderMeaning, headerMeaning } from "./header-meaning.ts";

/** Points of each kind of evidence. They add up to a column's score. */
export interface ScoreParts {
  /** Points for the column's name. */
  header: number;
  /** The share of the filled cells that are addresses. */
  addresses: number;
  /** Points for different addresses: below 0 the more they repeat. */
  distinct: number;
  /** Points for the share of rows with an address. */
  filled: number;
  /** A column further left is likelier, all else being equal. */
  position: number;
}

export interface ScoredColumn {
  /** Index of the column, from 0. */
  index: number;
  meaning: HeaderMeaning;
  /** Cells of the sampled rows that hold an address, and how many different ones. */
  addresses: number;
  distinct: number;
  score: number;
  parts: ScoreParts;
}

export type ChosenBy = "option" | "header" | "content" | "only";

export type ColumnChoice =
  | { kind: "chosen"; index: number; chosenBy: Exclude<ChosenBy, "option">; candidates: ScoredColumn[] }
  | { kind: "ambiguous"; why: string; candidates: ScoredColumn[] }
  /** No column holds addresses, or is called so. */
  | { kind: "none"; candidates: ScoredColumn[] };

/** A table as it was sampled. */
export interface SampledTable {
  /** Names, latin1; null: none are known. */
  header: readonly string[] | null;
  rows: readonly string[][];
  /** True when the sample has all rows. */
  whole: boolean;
}

/** Points by name. A gap of MARGIN decides: "Email" over "Billing Email", but not over "Customer Email". */
const HEADER_POINTS: Readonly<Record<HeaderMeaning, number>> = {
  primary: 55,
  email: 43,
  contact: 35,
  qualified: 28,
  secondary: 12,
  none: 0,
  attribute: -25,
  owner: -40,
};
const ADDRESSES_POINTS = 40;
const DISTINCT_POINTS = 30;
const FILLED_POINTS = 6;
const POSITION_POINTS = 1;

/** Minimum lead in points of the chosen column over the next one. */
const MARGIN = 10;

/** Fewer addresses than this tell little about how much they repeat. */
const REPEATS_FROM = 5;

/** Minimum share of addresses among the filled cells, for a column whose name does not mean e-mail. */
const CONTENT_SHARE = 0.25;

/** A further column of the contact's that is filled so seldom beside the first does not make the list ambiguous. */
const SPARSE_SHARE = 0.2;

/** Names of a column of the contacts' addresses. */
const NAMED: ReadonlySet<HeaderMeaning> = new Set(["primary", "email", "contact", "qualified", "secondary"]);

interface JudgedColumn extends ScoredColumn {
  name: string;
  evidence: ColumnEvidence;
}

function meaningOf(header: readonly string[] | null, index: number): HeaderMeaning {
  return header === null ? "none" : headerMeaning(header[index] ?? "");
}

/**
 * The share of addresses. An address with text around it counts half: a column of bare addresses is likelier the right one.
 */
function shareOf({ addresses, wrapped, filled }: ColumnEvidence): number {
  return filled === 0 ? 0 : (addresses - wrapped / 2) / filled;
}

function distinctPoints({ addresses, distinct }: ColumnEvidence): number {
  if (addresses === 0) return 0;
  return DISTINCT_POINTS * (distinct / addresses - 1) * Math.min(1, addresses / REPEATS_FROM);
}

function isCandidate(meaning: HeaderMeaning, { filled, addresses }: ColumnEvidence): boolean {
  if (addresses > 0) return NAMED.has(meaning) || addresses / filled >= CONTENT_SHARE;
  return NAMED.has(meaning) && filled === 0;
}

const round = (points: number): number => Math.round(points * 10) / 10;

function judge(table: SampledTable, all: readonly ColumnEvidence[]): JudgedColumn[] {
  const { header, rows, whole } = table;
  const possible = all
    .map((evidence) => ({ evidence, meaning: meaningOf(header, evidence.index) }))
    .filter(({ evidence, meaning }) => isCandidate(meaning, evidence));
  const isNamed = possible.some(({ evidence, meaning }) => evidence.addresses > 0 && NAMED.has(meaning));
  // With a named column that has addresses, empty columns are no candidates.
  const found = whole && isNamed ? possible.filter(({ evidence }) => evidence.addresses > 0) : possible;
  return found.map(({ evidence, meaning }, rank) => {
    const parts: ScoreParts = {
      header: HEADER_POINTS[meaning],
      addresses: round(ADDRESSES_POINTS * shareOf(evidence)),
      distinct: round(distinctPoints(evidence)),
      filled: rows.length === 0 ? 0 : round((FILLED_POINTS * evidence.addresses) / rows.length),
      position: round(POSITION_POINTS * (1 - rank / found.length)),
    };
    const score = round(parts.header + parts.addresses + parts.distinct + parts.filled + parts.position);
    const { index, addresses, distinct } = evidence;
    return { index, meaning, addresses, distinct, score, parts, name: header?.[index] ?? "", evidence };
  });
}

/** True when the scores are too close to choose between the two. */
function areClose(best: JudgedColumn, other: JudgedColumn, whole: boolean): boolean {
  if (best.score - other.score >= MARGIN) return false;
  // If all columns are empty to the end, the first is chosen.
  if (other.addresses === 0 && best.addresses === 0 && whole) return false;
  if (other.addresses > 0 && isCopy(other.evidence, best.evidence)) return false;
  const isSparse = best.addresses >= REPEATS_FROM && other.addresses <= best.addresses * SPARSE_SHARE;
  const isKnown = NAMED.has(best.meaning) && NAMED.has(other.meaning) && best.name !== other.name;
  return !(isSparse && isKnown && other.addresses > 0);
}

/** The best by its name has the addresses of a few, and another one those of many: name and content contradict each other. */
export function isContradicted(
  best: Pick<ScoredColumn, "addresses" | "distinct">,
  other: Pick<ScoredColumn, "meaning" | "addresses" | "distinct">,
): boolean {
  if (other.meaning === "attribute" || !areFew(best.distinct, best.addresses)) return false;
  return other.distinct >= 3 * best.distinct && !areFew(other.distinct, other.addresses);
}

/**
 * True when the column probably has the addresses of the contacts' owners. The sampled rows have few different addresses,
 * the column's name does not say that they are the contacts', and the table has other columns.
 */
export function isSuspect(
  meaning: HeaderMeaning,
  columns: number,
  counts: { distinct: number; addresses: number },
) {
  return columns > 1 && !NAMED.has(meaning) && areFew(counts.distinct, counts.addresses);
}

function published({ index, meaning, addresses, distinct, score, parts }: JudgedColumn): ScoredColumn {
  return { index, meaning, addresses, distinct, score, parts };
}

/** Without any address: the first column with such a name, whatever its cells contain. */
function namedColumn({ header }: SampledTable, all: readonly ColumnEvidence[]): number | undefined {
  const points = (index: number) => HEADER_POINTS[meaningOf(header, index)];
  const named = all.map(({ index }) => index).filter((index) => NAMED.has(meaningOf(header, index)));
  return named.sort((a, b) => points(b) - points(a))[0];
}

/** A column of which most cells nearly are addresses. */
function nearlyColumn(all: readonly ColumnEvidence[]): number | undefined {
  return all.find(({ nearly, addresses, filled }) => filled > 0 && (nearly + addresses) / filled >= 0.5)
    ?.index;
}

/**
 * Chooses the column of the contacts' addresses, from the names of the columns and the sampled rows. Candidates are columns
 * with addresses, and empty ones whose name means e-mail. A candidate gets points for its name, its position, and three
 * shares: of addresses among its cells, of different ones, and of rows with one. If the scores are too close, the choice is
 * `ambiguous`.
 */
export function chooseColumn(table: SampledTable): ColumnChoice {
  const all = columnEvidence(table.rows, table.header?.length ?? 0);
  const judged = judge(table, all).sort((a, b) => b.score - a.score || a.index - b.index);
  const candidates = judged.map(published);
  const [best, ...others] = judged;
  if (best === undefined) {
    const named = namedColumn(table, all);
    const index = named ?? nearlyColumn(all);
    const chosenBy = named === undefined ? "content" : "header";
    return index === undefined
      ? { kind: "none", candidates }
      : { kind: "chosen", index, chosenBy, candidates };
  }
  const ambiguous = (why: string): ColumnChoice => ({ kind: "ambiguous", why, candidates });
  if (others.some((other) => areClose(best, other, table.whole)))
    return ambiguous("Several columns may be the one of the contacts' addresses.");
  if (others.some((other) => isContradicted(best, other)))
    return ambiguous("The column that is called so has few different addresses, another one has many.");
  if (isSuspect(best.meaning, all.length, best))
    return ambiguous("The column has the same few addresses again and again, as owners of contacts have.");
  const chosenBy = NAMED.has(best.meaning) ? "header" : others.length === 0 ? "only" : "content";
  return { kind: "chosen", index: best.index, chosenBy, candidates };
}
