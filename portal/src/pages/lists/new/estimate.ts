import { counted, grouped } from "../../../words/numbers.ts";
import type { Preview } from "./use-preview.ts";

const ROUNDED = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

export interface Estimate {
  /** "30 rows", "about 19,900 rows". */
  rows: string;
  /** Their maximum cost. */
  units: number;
  /** The number is known, and no estimate. */
  isExact: boolean;
}

/**
 * Estimates the rows of a list and their maximum cost from its preview; null: unknown before the list is read.
 * @param splitCells true: each of several addresses in a cell is verified; otherwise such a row costs nothing
 */
export function estimateOf({ sample, estimated_rows: rows }: Preview, splitCells: boolean): Estimate | null {
  if (rows === null) return null;
  const { whole: isExact, repeats, several } = sample;
  const units = sample.rows - repeats - several.rows + (splitCells ? several.addresses : 0);
  return {
    rows: isExact ? counted(rows, "row") : `about ${ROUNDED.format(rows)} rows`,
    units: sample.rows === 0 ? rows : Math.round((rows * units) / sample.rows),
    isExact,
  };
}

export const unitsText = ({ units, isExact }: Estimate): string =>
  isExact ? grouped(units) : `about ${ROUNDED.format(units)}`;
