import { chooseColumn, type SampledTable } from "../../src/features/bulk/columns/choose-column.ts";

/** Tables of addresses to choose a column of. */

const latin1 = (text: string) => Buffer.from(text).toString("latin1");

/** Cells of a column, by row. */
export type Cells = (row: number) => string;

export const contact: Cells = (row) => `contact${row}@example.com`;
export const home: Cells = (row) => `home${row}@example.org`;
export const owner: Cells = (row) => `owner${row % 3}@corp.example`;
export const name: Cells = (row) => `Name ${row}`;
export const blank: Cells = () => "";
/** Cells that are filled in every n-th row only. */
export const sparse =
  (cells: Cells, every: number): Cells =>
  (row) =>
    row % every === 0 ? cells(row) : "";
export const mostly =
  (cells: Cells, blankEvery: number): Cells =>
  (row) =>
    row % blankEvery === 1 ? "" : cells(row);

export function choose(
  columns: readonly [name: string, cells: Cells][],
  rows = 300,
  table: Partial<SampledTable> = {},
) {
  const header = columns.map(([called]) => latin1(called));
  const cells = Array.from({ length: rows }, (_, row) => columns.map(([, of]) => latin1(of(row))));
  return chooseColumn({ header, rows: cells, whole: true, ...table });
}

/** The name of the chosen column. If none was chosen, the kind of the choice, which is the reason. */
export function chosen(
  columns: readonly [name: string, cells: Cells][],
  rows?: number,
  table?: Partial<SampledTable>,
) {
  const choice = choose(columns, rows, table);
  return choice.kind === "chosen" ? (columns[choice.index]?.[0] ?? choice.index) : choice.kind;
}
