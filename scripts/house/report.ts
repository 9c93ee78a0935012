/** Rows as columns: the first to the left, the others to the right where all of their cells are figures. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const all = [head, ...rows].map((row) => row.map(textOf));
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const isFigures = head.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  return all
    .map((row) =>
      row
        .map((cell, i) => (isFigures[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function textOf(cell: string | number): string {
  return typeof cell === "number" ? cell.toLocaleString("en-US") : cell;
}

export function section(title: string, body: string): string {
  return `\n${title}\n\n${body || "none"}`;
}
