import type { JoinedRow } from "./join.ts";

/** Lets the first rows of a list pass: of one whose cells were split, the addresses of a row are one. */
export class RowLimit {
  #left: number;
  readonly #isSplit: boolean;
  #row = -1;
  /** No further one may come. */
  areAll = false;

  /** @param limit null: all of them */
  constructor(limit: number | null, isSplit: boolean) {
    this.#left = limit ?? Number.POSITIVE_INFINITY;
    this.#isSplit = isSplit;
  }

  /** Those of the next rows that are among them. */
  take<Row extends Pick<JoinedRow, "row">>(rows: readonly Row[]): readonly Row[] {
    if (this.#left === Number.POSITIVE_INFINITY) return rows;
    for (const [i, { row }] of rows.entries()) {
      if (row === this.#row) continue;
      this.areAll = this.#left === 0;
      if (this.areAll) return rows.slice(0, i);
      this.#left -= 1;
      this.#row = row;
    }
    // A row that was split may continue in the next rows.
    this.areAll = this.#left === 0 && !this.#isSplit;
    return rows;
  }
}
