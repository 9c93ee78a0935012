import type { DurationSeries } from "../../config/durations.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { LookUpResult } from "../../dns/cache.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { SessionTraffic } from "../../smtp/session/session-traffic.ts";
import type { SmtpClass } from "../../verification/evidence.ts";

/** Counts of a check thread since its last report. A provider is one of the shaping table, or `other`. */
export interface ThreadReport {
  /** Probes that ended, by `provider class`. */
  probes: Record<string, number>;
  /** Transactions that were answered, by provider, in the buckets of `PROBE_BUCKETS_S`. */
  answered: Record<string, Pick<DurationSeries, "counts" | "sum">>;
  sessionsOpened: number;
  /** Sessions open now: a gauge, not a count. */
  sessionsOpen: number;
  transactions: number;
  /** Pipelined. */
  writes: number;
  /** Transactions in those. */
  groups: number;
  /** Names, by result. */
  lookUps: Record<string, number>;
  /** Catch-all answers that were known, and those that had to be asked for. */
  catchAllLookUps: CatchAllLookUps;
}

/** Accepted mailboxes, by whether the catch-all answer of their host was known. */
export interface CatchAllLookUps {
  hit: number;
  asked: number;
}

/**
 * Counters of a check thread, plain numbers, sent to the main thread in batches: at most one message every
 * `LIMITS.check.countsEveryMs`, and none without changes.
 */
export interface ThreadCounts {
  /** A probe ended: counted under `provider class`. */
  countProbe(provider: string | null, outcome: SmtpClass): void;
  /** A connection was opened to a host of a site, or one that was is gone. */
  countSession(change: 1 | -1): void;
  countLookUp(result: LookUpResult): void;
  /** Raised where a probe is concluded. It schedules no report of its own: the next probe that ends does. */
  readonly catchAllLookUps: CatchAllLookUps;
  /** Raised by sessions with sites. It schedules no report of its own: the next probe that ends does. */
  trafficOf(site: string): SessionTraffic;
  flush(): void;
}

const OTHER = "other";

interface Deps {
  clock: Clock;
  /** Named providers: each is a site. */
  providers: ReadonlySet<string>;
  send(report: ThreadReport): void;
}

class Counts implements ThreadCounts {
  readonly catchAllLookUps: CatchAllLookUps = { hit: 0, asked: 0 };
  readonly #deps: Deps;
  /** By provider, then class: a key made of both would be a new string for each probe. */
  readonly #probes = new Map<string | null, Map<SmtpClass, { count: number }>>();
  readonly #traffic = new Map<string, SessionTraffic>();
  readonly #lookUps: Record<LookUpResult, number> = { hit: 0, answered: 0, absent: 0, failed: 0 };
  #sessionsOpened = 0;
  #sessionsOpen = 0;
  #scheduled = false;
  /** There are counts to report. */
  #hasChanged = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  countProbe(provider: string | null, outcome: SmtpClass): void {
    let classes = this.#probes.get(provider);
    if (classes === undefined) {
      classes = new Map();
      this.#probes.set(provider, classes);
    }
    const known = classes.get(outcome);
    if (known === undefined) classes.set(outcome, { count: 1 });
    else known.count += 1;
    this.#schedule();
  }

  countSession(change: 1 | -1): void {
    if (change === 1) this.#sessionsOpened++;
    this.#sessionsOpen += change;
    this.#schedule();
  }

  countLookUp(result: LookUpResult): void {
    this.#lookUps[result]++;
    this.#schedule();
  }

  trafficOf(site: string): SessionTraffic {
    const provider = this.#deps.providers.has(site) ? site : OTHER;
    const known = this.#traffic.get(provider);
    if (known !== undefined) return known;
    const traffic = new SessionTraffic();
    this.#traffic.set(provider, traffic);
    return traffic;
  }

  flush(): void {
    this.#scheduled = false;
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    this.#deps.send({
      probes: flattenProbes(this.#probes),
      sessionsOpened: this.#sessionsOpened,
      sessionsOpen: this.#sessionsOpen,
      lookUps: { ...this.#lookUps },
      catchAllLookUps: { ...this.catchAllLookUps },
      ...takeTraffic(this.#traffic),
    });
    this.#probes.clear();
    this.#sessionsOpened = 0;
    Object.assign(this.#lookUps, { hit: 0, answered: 0, absent: 0, failed: 0 });
    Object.assign(this.catchAllLookUps, { hit: 0, asked: 0 });
  }

  #schedule(): void {
    this.#hasChanged = true;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#deps.clock.after(LIMITS.check.countsEveryMs, () => this.flush());
  }
}

function flattenProbes(
  probes: ReadonlyMap<string | null, ReadonlyMap<SmtpClass, { count: number }>>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [provider, classes] of probes) {
    for (const [outcome, { count }] of classes) {
      const key = `${provider ?? OTHER} ${outcome}`;
      counts[key] = (counts[key] ?? 0) + count;
    }
  }
  return counts;
}

/** Takes the counts of writes, over all providers, and the durations of answers, by provider. */
function takeTraffic(traffic: ReadonlyMap<string, SessionTraffic>) {
  const sums = { transactions: 0, writes: 0, groups: 0 };
  const answered: ThreadReport["answered"] = {};
  for (const [provider, of] of traffic) {
    for (const key of ["transactions", "writes", "groups"] as const) {
      sums[key] += of[key];
      of[key] = 0;
    }
    const took = of.answered.take();
    if (took !== null) answered[provider] = took;
  }
  return { ...sums, answered };
}

export function createThreadCounts(deps: Deps): ThreadCounts {
  return new Counts(deps);
}
