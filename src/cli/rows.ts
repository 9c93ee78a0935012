import Table from "cli-table3";
import { jsonLine, printable } from "./printable.ts";

const BORDERS = [
  "top",
  "top-mid",
  "top-left",
  "top-right",
  "bottom",
  "bottom-mid",
  "bottom-left",
  "bottom-right",
];
const LINES = ["left", "left-mid", "mid", "mid-mid", "right", "right-mid"];
const NO_LINES = Object.fromEntries([...BORDERS, ...LINES].map((name) => [name, ""]));

/** Prints rows: columns for people on a terminal, with tabs between the cells and no names elsewhere. */
export function printRows(names: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map(printable));
  if (!process.stdout.isTTY) {
    for (const row of cells) process.stdout.write(`${row.join("\t")}\n`);
    return;
  }
  const table = new Table({
    head: names.map((name) => name.toUpperCase()),
    chars: { ...NO_LINES, middle: "  " },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  table.push(...cells);
  process.stdout.write(`${table.toString().replaceAll(/ +$/gm, "")}\n`);
}

/** Tells a person at a terminal that the list is empty. Programs get empty output. */
export function sayNone(): void {
  if (process.stdout.isTTY) process.stderr.write("none\n");
}

/** Prints the entries of a list as they come: JSON lines, or rows. @param rowOf the cells of an entry */
export async function printList<T>(
  entries: AsyncIterable<T>,
  { json }: { json: boolean },
  names: readonly string[],
  rowOf: (entry: T) => readonly string[],
): Promise<void> {
  const rows: (readonly string[])[] = [];
  for await (const entry of entries)
    if (json) process.stdout.write(jsonLine(entry));
    else rows.push(rowOf(entry));
  if (!json && rows.length > 0) printRows(names, rows);
  if (!json && rows.length === 0) sayNone();
}

/** The day of a time from the API; "never" for null. */
export const dayOf = (instant: string | null): string => instant?.slice(0, 10) ?? "never";

/** Prints an answer of the API as JSON, or as a line for people. */
export function printAnswer(answer: unknown, { json }: { json: boolean }, line: string): void {
  process.stdout.write(json ? jsonLine(answer) : `${printable(line)}\n`);
}
