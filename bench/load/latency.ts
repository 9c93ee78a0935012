import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** Percentiles shown of a distribution, besides its extremes. */
export const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99] as const;
export type Percentile = `p${(typeof PERCENTILES)[number]}`;

/** Microseconds. Of no values all are null. */
export interface LatencyView {
  count: number;
  minUs: number | null;
  meanUs: number | null;
  maxUs: number | null;
  percentiles: Record<Percentile, number | null>;
}

/** A point of a percentile curve: `share` of the answers (0 to 1) took at most `us` microseconds. */
export type CurvePoint = [share: number, us: number];

/** One hour. Longer latencies would count as an hour, but no request is waited for as long. */
const HIGHEST_US = 3_600_000_000;
/**
 * Significant figures of each value; an HDR histogram, hence the same relative error at a microsecond and at a minute.
 */
const FIGURES = 3;

/** Latencies of one kind of request, in bounded memory (about 200 KiB). */
export class Latencies {
  readonly #histogram: RecordableHistogram = createHistogram({
    lowest: 1,
    highest: HIGHEST_US,
    figures: FIGURES,
  });
  #maxUs = 0;
  #minUs = Infinity;

  record(us: number): void {
    const value = Math.min(HIGHEST_US, Math.max(1, Math.round(us)));
    this.#histogram.record(value);
    if (value > this.#maxUs) this.#maxUs = value;
    if (value < this.#minUs) this.#minUs = value;
  }

  reset(): void {
    this.#histogram.reset();
    this.#maxUs = 0;
    this.#minUs = Infinity;
  }

  get count(): number {
    return this.#histogram.count;
  }

  /** @returns microseconds, never above the largest value; null: no values */
  percentile(percentile: number): number | null {
    return this.count === 0 ? null : Math.min(this.#maxUs, this.#histogram.percentile(percentile));
  }

  view(): LatencyView {
    const { count } = this;
    const percentiles = PERCENTILES.map((p) => [`p${p}`, this.percentile(p)] as const);
    return {
      count,
      minUs: count === 0 ? null : this.#minUs,
      meanUs: count === 0 ? null : Math.round(this.#histogram.mean),
      maxUs: count === 0 ? null : this.#maxUs,
      percentiles: Object.fromEntries(percentiles) as LatencyView["percentiles"],
    };
  }

  /** Points that are as far apart on a scale of nines (90, 99, 99.9, …): as far as there are values to tell them by. */
  curve(): CurvePoint[] {
    const { count } = this;
    const points: CurvePoint[] = [];
    for (let nines = 0; nines <= Math.log10(Math.max(1, count)); nines += 0.05) {
      const share = 1 - 10 ** -nines;
      const us = this.percentile(Math.max(share * 100, Number.MIN_VALUE));
      if (us !== null) points.push([share, us]);
    }
    return points;
  }
}
