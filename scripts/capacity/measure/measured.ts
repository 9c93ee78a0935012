import type { Scenario } from "../scenario.ts";

/** One configuration of the real service, and what the formula had said of it. Rows a second. */
export interface Measured {
  name: string;
  /** What the formula was told: it gives the same again. */
  scenario: Scenario;
  predictedPerS: number;
  predictedBound: string;
  measuredPerS: number;
  /** What else was counted, for whoever reads it. */
  told: Record<string, number>;
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
