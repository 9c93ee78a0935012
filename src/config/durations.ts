/**
 * Durations of one kind, in buckets. Without prom-client, which check threads do not load: `DurationHistogram` of
 * custom-metrics.ts exports them.
 */
export class DurationSeries {
  /** Counts by bucket, not cumulative; the last holds durations above every bound. */
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  /** @param bounds seconds, ascending: a duration equal to a bound counts below it */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** @param times number of equal durations */
  observe(seconds: number, times = 1): void {
    this.sum += seconds * times;
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + times;
  }

  /** Adds another series with the same buckets. */
  add({ counts, sum }: Pick<DurationSeries, "counts" | "sum">): void {
    this.sum += sum;
    for (let bucket = 0; bucket < this.counts.length; bucket++)
      this.counts[bucket] = (this.counts[bucket] ?? 0) + (counts[bucket] ?? 0);
  }

  /** Returns the counts and clears them; null: none. */
  take(): { counts: number[]; sum: number } | null {
    if (this.counts.every((count) => count === 0)) return null;
    const taken = { counts: [...this.counts], sum: this.sum };
    this.counts.fill(0);
    this.sum = 0;
    return taken;
  }
}

/** Buckets of probe durations in seconds: a near server answers within milliseconds, a command may take its whole timeout. */
export const PROBE_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
