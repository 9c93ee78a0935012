import type { Section } from "./table.ts";
import { alignColumns } from "./table.ts";
import { headroom, outcomeOf, type Target } from "./target.ts";

/** Result of one bench: pure data, from which all output of a run is rendered. */
export interface Measured {
  /** The name of its section on the command line. */
  name: string;
  /** null: it failed, and `failure` says how. */
  section: Section | null;
  failure: string | null;
  /** The run did not do the measured work: verdicts were wrong, or answers missing. */
  isInvalid: boolean;
  tookS: number;
  /** Time budget in seconds, for readers; it is not enforced. */
  allowanceS: number;
  targets: Target[];
}

/** Exit codes of `npm run bench`. */
export const EXIT = { reached: 0, notReached: 1, invalid: 2 } as const;

/** A figure with its unit, with a precision by size: two decimals below ten, none from a hundred on. */
export function formatFigure(value: number, unit: string): string {
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const digits = value.toLocaleString("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return unit === "" ? digits : `${digits} ${unit}`;
}

export function formatBound({ atLeast, atMost, unit }: Target): string {
  if (atLeast !== undefined && atMost !== undefined)
    return `${formatFigure(atLeast, "")} to ${formatFigure(atMost, unit)}`;
  if (atLeast !== undefined) return `≥ ${formatFigure(atLeast, unit)}`;
  if (atMost !== undefined) return `≤ ${formatFigure(atMost, unit)}`;
  return "";
}

/** Most characters of a reason in the table: it may be any error message. */
const REASON_CHARS = 100;

/** The outcome: the ratio of figure and bound, or why there is none. A line of bounded length. */
function verdictOf(target: Target): string {
  const outcome = outcomeOf(target);
  const far = headroom(target);
  if (outcome !== "void") return far === null ? outcome : `${outcome}, ${far.toFixed(2)} ×`;
  const reason = (target.reason ?? "nobody said why").replace(/\s+/g, " ");
  const cut = reason.length > REASON_CHARS ? `${reason.slice(0, REASON_CHARS - 1)}…` : reason;
  return `void: ${cut}`;
}

/** The cells of the table that a run ends with, head first. */
export function targetRows(targets: readonly Target[]): string[][] {
  const rows = targets.map((target) => [
    target.id,
    target.what,
    target.figure === null || Number.isNaN(target.figure) ? "–" : formatFigure(target.figure, target.unit),
    formatBound(target),
    verdictOf(target),
  ]);
  return [["target", "what", "figure", "bound", "outcome"], ...rows];
}

export function renderTargets(targets: readonly Target[]): string {
  const rows = targetRows(targets);
  const widest = Math.max(...rows.map(([, what = ""]) => what.length));
  // Words to the left; `alignColumns` takes all columns but the outer ones for figures.
  const [head = "", ...lines] = alignColumns(
    rows.map(([id = "", what = "", ...figures]) => [id, what.padEnd(widest), ...figures]),
  );
  const rule = "-".repeat(Math.max(head.length, ...lines.map(({ length }) => length)));
  return ["Targets", "", head, rule, ...lines, ""].join("\n");
}

/** 2 when anything was measured that must not be counted, else 1 when a bounded line was missed or void, else 0. */
export function exitCodeOf(all: readonly Pick<Measured, "isInvalid" | "targets">[]): number {
  if (all.some(({ isInvalid }) => isInvalid)) return EXIT.invalid;
  const outcomes = all.flatMap(({ targets }) => targets.map(outcomeOf));
  const isReached = outcomes.every((outcome) => outcome === "reached" || outcome === "unbounded");
  return isReached ? EXIT.reached : EXIT.notReached;
}
