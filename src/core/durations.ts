/**
 * Durations of one kind, in buckets. Without prom-client, which check threads do not load: `Durations` of tally.ts shows
 * them.
 */
export class DurationSeries {
  /** By bucket, each without those below it; the last is of what is longer than any bound. */
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  /** @param bounds seconds, ascending: what is as long as a bound is below it */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** @param times how many took as long */
  observe(seconds: number, times = 1): void {
    this.sum += seconds * times;
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + times;
  }

  /** Adds what another one of the same buckets has. */
  add({ counts, sum }: Pick<DurationSeries, "counts" | "sum">): void {
    this.sum += sum;
    for (let bucket = 0; bucket < this.counts.length; bucket++)
      this.counts[bucket] = (this.counts[bucket] ?? 0) + (counts[bucket] ?? 0);
  }

  /** What it has, of which it is empty from now on; null: nothing. */
  take(): { counts: number[]; sum: number } | null {
    if (this.counts.every((count) => count === 0)) return null;
    const taken = { counts: [...this.counts], sum: this.sum };
    this.counts.fill(0);
    this.sum = 0;
    return taken;
  }
}

/** Seconds of the buckets of probes: a server near by answers within milliseconds, a command may take its whole time. */
export const PROBE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
