import type { Scenario } from "../scenario.ts";

/** One configuration of the real service, with the formula's prediction. Rates are in rows a second. */
export interface Measured {
  name: string;
  /** The formula's input: it reproduces the prediction. */
  scenario: Scenario;
  predictedPerS: number;
  predictedBound: string;
  measuredPerS: number;
  /** Further counts, for the reader. */
  also: Record<string, number>;
}

/** By how much a prediction may be off. */
export const TOLERANCE = 0.15;

export function ratioOf({ predictedPerS, measuredPerS }: Measured): number {
  return predictedPerS / measuredPerS;
}

/** Within the tolerance, whichever of the two is larger. */
export function isReproduced(measured: Measured): boolean {
  const off = Math.abs(ratioOf(measured) - 1);
  return off <= TOLERANCE;
}
