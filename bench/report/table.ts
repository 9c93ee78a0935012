import type { Summary } from "./figures.ts";
import type { Target } from "./target.ts";

/** One measured subject of a section. */
export interface Line {
  name: string;
  figures: Summary;
  /** Ratios to the other lines of its section, ready to print. */
  ratios: string[];
}

export interface Section {
  title: string;
  /** The setup, one line each: counts, connections, delays, rounds. */
  configuration: string[];
  /** The unit that is counted, e.g. `addresses`. */
  unit: string;
  lines: Line[];
  /** For figures other than units of work a second: a table of its own form, head first, below `lines`. */
  table?: string[][];
  /** Observations under the table. */
  notes: string[];
  targets: Target[];
}

/** A ratio, e.g. `0.83 × raw in CPU`; `value` and `reference` are of one unit. */
export function ratio(value: number, reference: number, of: string): string {
  return `${(value / reference).toFixed(2)} × ${of}`;
}

function cells(line: Line): string[] {
  const { perS, cpuUs, busy, spread } = line.figures;
  return [
    line.name,
    Math.round(perS).toLocaleString("en"),
    `±${Math.round(spread * 50)} %`,
    cpuUs.toFixed(1),
    `${Math.round(busy * 100)} %`,
    line.ratios.join("; "),
  ];
}

/** Rows in columns, a line each. @param isRight which columns stand to the right, as figures do */
export function inColumns(
  rows: readonly (readonly string[])[],
  isRight: (column: number) => boolean = () => false,
): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const pad = (cell: string, at: number) =>
    isRight(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd());
}

/** Rows as columns: those that have figures alone to the right, with thousands apart, the others to the left. */
export function figureTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const textOf = (cell: string | number) => (typeof cell === "number" ? cell.toLocaleString("en-US") : cell);
  const isRight = (column: number) => rows.every((row) => typeof row[column] === "number");
  return inColumns([head, ...rows.map((row) => row.map(textOf))], isRight).join("\n");
}

/** Columns padded to their widest cell: the first and the last to the left, figures to the right. */
export function alignColumns(rows: readonly string[][]): string[] {
  const last = Math.max(0, ...rows.map((row) => row.length)) - 1;
  return inColumns(rows, (at) => at > 0 && at < last);
}

/** Aligned, with a rule under its head. */
function ruled(rows: readonly string[][]): string[] {
  const [head = "", ...rest] = alignColumns(rows);
  return [head, "-".repeat(Math.max(head.length, ...rest.map(({ length }) => length))), ...rest];
}

export function renderSection({ title, configuration, unit, lines, table, notes }: Section): string {
  const head = ["", `${unit}/s`, "spread", "CPU µs each", "busy", "ratio"];
  const tables = [
    ...(lines.length === 0 ? [] : [ruled([head, ...lines.map(cells)])]),
    ...(table === undefined ? [] : [ruled(table)]),
  ];
  return [
    title,
    ...configuration.map((text) => `  ${text}`),
    ...tables.flatMap((made) => ["", ...made]),
    ...notes.map((text) => `  ${text}`),
    "",
  ].join("\n");
}
