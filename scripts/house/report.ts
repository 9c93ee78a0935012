import { inColumns } from "../../bench/report/table.ts";

/** Rows as columns: the first to the left, the others to the right where all of their cells are figures. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const all = [head, ...rows].map((row) => row.map(textOf));
  const isFigures = head.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  return inColumns(all, (column) => isFigures[column] ?? false).join("\n");
}

function textOf(cell: string | number): string {
  return typeof cell === "number" ? cell.toLocaleString("en-US") : cell;
}

export function section(title: string, body: string): string {
  return `\n${title}\n\n${body || "none"}`;
}
