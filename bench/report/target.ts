/** A bound and the figure reached: a line of the table that `npm run bench` ends with. */
export interface Target {
  /** Stable, by section, e.g. `http.cached.cpu`: results of different days are compared by it. */
  id: string;
  /** In words, e.g. `cached GET /v1/verify, CPU a request`. */
  what: string;
  /** Unit of figure and bound: `× raw`, `rows/s`, `ms`, … */
  unit: string;
  /** null: nothing that counts was measured; `reason` says why. Such a line is not reached. */
  figure: number | null;
  reason?: string;
  /** At least one of the two, or the line is only shown. */
  atLeast?: number;
  atMost?: number;
}

/** `unbounded`: the target has no bound; the figure is only shown. `void`: no figure, because conditions were unfit to measure. */
export type Outcome = "reached" | "missed" | "void" | "unbounded";

export function outcomeOf({ figure, atLeast, atMost }: Target): Outcome {
  if (figure === null || Number.isNaN(figure)) return "void";
  if (atLeast === undefined && atMost === undefined) return "unbounded";
  const isReached =
    figure >= (atLeast ?? Number.NEGATIVE_INFINITY) && figure <= (atMost ?? Number.POSITIVE_INFINITY);
  return isReached ? "reached" : "missed";
}

/** Ratio of figure and bound: 1 is just reached, 2 is twice as good. null: no figure, or no bound. */
export function headroom({ figure, atLeast, atMost }: Target): number | null {
  if (figure === null || Number.isNaN(figure)) return null;
  const ratios = [
    ...(atLeast === undefined ? [] : [figure / atLeast]),
    ...(atMost === undefined ? [] : [atMost / figure]),
  ];
  return ratios.length === 0 ? null : Math.min(...ratios);
}
