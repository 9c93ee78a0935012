import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import { DurationSeries } from "./durations.ts";

/** A count that its owner raises by itself: a plain number, where `inc` hashes the labels anew each time (150 ns). */
export interface Tally {
  count: number;
}

/** A counter some of whose series are tallies: what they have counted is told whenever it is read. */
export class TalliedCounter<L extends string> extends Counter<L> {
  readonly #tallies: { labels: Partial<Record<L, string | number>>; tally: Tally }[] = [];

  /** Makes a tally of the series; for who keeps it, since each is another one. Several of a series add up. */
  tally(labels: Partial<Record<L, string | number>>): Tally {
    const tally = { count: 0 };
    this.#tallies.push({ labels, tally });
    return tally;
  }

  override get(): ReturnType<Counter<L>["get"]> {
    for (const { labels, tally } of this.#tallies) {
      if (tally.count > 0) this.inc(labels, tally.count);
      tally.count = 0;
    }
    return super.get();
  }
}

/** A gauge of what somebody has to find out: it has no series while that is not known, so that none shows what was. */
export class KnownGauge<L extends string = never> extends Gauge<L> {
  constructor(...settings: ConstructorParameters<typeof Gauge<L>>) {
    super(...settings);
    this.forget();
  }

  forget(): void {
    this.reset();
    // Without labels a gauge that is reset stands at 0.
    this.remove({});
  }
}

/** A gauge that asks its owner whenever it is read: to `set` it at each change costs 100 ns and an object. */
export class AskedGauge extends Gauge {
  #read: (() => number) | null = null;

  /** From now on `read` says what it stands at. */
  askOf(read: () => number): void {
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
  /** Seconds, ascending: what is as long as a bound is below it. */
  buckets: readonly number[];
  registers: readonly Registry[];
}

/**
 * A histogram of durations with one label, as prom-client's own is read, whose series are kept by whoever observes them:
 * prom-client's hashes and validates the labels at every observation (300 ns).
 */
export class Durations<L extends string> {
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

  /** The series of a value of the label: always the same one. */
  of(value: string): DurationSeries {
    let series = this.#series.get(value);
    if (series === undefined) {
      series = new DurationSeries(this.#buckets);
      this.#series.set(value, series);
    }
    return series;
  }

  /** What the registry reads. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#series].flatMap(([value, series]) => this.#valuesOf(value, series));
    return { name, help, type, aggregator, values };
  }

  /** The registry's. */
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
