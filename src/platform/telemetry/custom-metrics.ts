import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import { DurationSeries } from "../../config/durations.ts";

/** A count that its owner increments directly: `inc` of prom-client hashes the labels each time (150 ns). */
export interface CountCell {
  count: number;
}

/** A counter with cells for some of its series: a read adds the cells' counts. */
export class CellCounter<L extends string> extends Counter<L> {
  readonly #cells: { labels: Partial<Record<L, string | number>>; createCell: CountCell }[] = [];

  /** Creates a cell for the series. Keep it: each call creates another one; cells of one series add up. */
  tally(labels: Partial<Record<L, string | number>>): CountCell {
    const tally = { count: 0 };
    this.#cells.push({ labels, createCell: tally });
    return tally;
  }

  override get(): ReturnType<Counter<L>["get"]> {
    for (const { labels, createCell: tally } of this.#cells) {
      if (tally.count > 0) this.inc(labels, tally.count);
      tally.count = 0;
    }
    return super.get();
  }
}

/** A gauge whose value may be unknown: it then has no series, so that a stale value never shows. */
export class ClearableGauge<L extends string = never> extends Gauge<L> {
  constructor(...settings: ConstructorParameters<typeof Gauge<L>>) {
    super(...settings);
    this.clear();
  }

  clear(): void {
    this.reset();
    // Without labels, a reset gauge shows 0.
    this.remove({});
  }
}

/** A gauge that reads its value from its owner when scraped: a `set` at each change costs 100 ns and an object. */
export class PulledGauge extends Gauge {
  #read: (() => number) | null = null;

  /** Sets the function that gives the gauge's value. */
  readFrom(read: () => number): void {
    this.#read = read;
  }

  override get(): ReturnType<Gauge["get"]> {
    if (this.#read !== null) this.set(this.#read());
    return super.get();
  }
}

interface DurationsConfig<L extends string> {
  name: string;
  help: string;
  label: L;
  /** Seconds, ascending: a duration equal to a bound counts below it. */
  buckets: readonly number[];
  registers: readonly Registry[];
}

/**
 * A histogram of durations with one label, read like prom-client's own, with series kept by the observers: prom-client's
 * hashes and validates the labels at every observation (300 ns).
 */
export class DurationHistogram<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly labelNames: readonly [L];
  readonly #label: L;
  readonly #buckets: readonly number[];
  #series = new Map<string, DurationSeries>();

  constructor({ name, help, label, buckets, registers }: DurationsConfig<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = [label];
    this.#label = label;
    this.#buckets = buckets;
    for (const registry of registers) registry.registerMetric(this as unknown as Metric);
  }

  /** The series of a label value: always the same object. */
  seriesOf(value: string): DurationSeries {
    let series = this.#series.get(value);
    if (series === undefined) {
      series = new DurationSeries(this.#buckets);
      this.#series.set(value, series);
    }
    return series;
  }

  /** Called by the registry. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#series].flatMap(([value, series]) => this.#valuesOf(value, series));
    return { name, help, type, aggregator, values };
  }

  /** Called by the registry. */
  reset(): void {
    this.#series = new Map();
  }

  #valuesOf(value: string, { counts, sum }: DurationSeries) {
    const labels = { [this.#label]: value };
    let below = 0;
    const buckets = counts.map((count, i) => {
      below += count;
      const le = this.#buckets[i] ?? "+Inf";
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: below },
    ];
  }
}
