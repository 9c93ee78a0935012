import { LIMITS } from "../../config/limits/limits.ts";
import type { Timer } from "../../platform/time/clock.ts";
import { BlockTally } from "./block-tally.ts";
import { type BreakerScope, breakerKey, keyOfScope } from "./scope.ts";

export interface OpenBreaker {
  /** `Clock.monotonic` milliseconds, as the next trial's. */
  sinceMs: number;
  dueAt: number;
  /** True while another process has the trial. */
  isTrialElsewhere: boolean;
  /** Number of times that it was opened again. */
  level: number;
  reply: string;
  trial: { token: string; timer: Timer } | null;
  /** For a site: domains that blocked its trials since it was due, with the time of the last block. */
  blockedDomains: Map<string, number>;
  /** The store is being asked for the trial. */
  isClaimingTrial: boolean;
}

/** A route to a site, or to a domain there, that has blocked a probe lately. */
export interface BreakerRecord {
  way: BreakerScope;
  tally: BlockTally;
  open: OpenBreaker | null;
  /** Level of the last opening, and the time until which the next opening continues from it. */
  level: number;
  escalatesUntil: number;
  refreshedAt: number;
}

/** The known breakers: at most LIMITS.breaker.ways closed ones, and LIMITS.breaker.openWays open ones besides. */
export class BreakerRecords {
  /** The longest untouched first. */
  readonly #closed = new Map<string, BreakerRecord>();
  /** The longest open first. */
  readonly #open = new Map<string, BreakerRecord>();
  readonly #openBySite = new Map<string, Set<BreakerRecord>>();
  readonly #onForget: (known: BreakerRecord) => void;

  /** @param forgotten called with a record before it is evicted for others; must close an open one */
  constructor(forgotten: (known: BreakerRecord) => void) {
    this.#onForget = forgotten;
  }

  get(key: string): BreakerRecord | undefined {
    return this.#open.get(key) ?? this.#closed.get(key);
  }

  all(): BreakerRecord[] {
    return [...this.#open.values(), ...this.#closed.values()];
  }

  /** Remembers the scope from now on, as the latest to be touched. */
  remember(way: BreakerScope): BreakerRecord {
    const key = keyOfScope(way);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const known = this.#closed.get(key) ?? {
      ...{ way, tally: new BlockTally(), open: null },
      ...{ level: 0, escalatesUntil: 0, refreshedAt: Number.NEGATIVE_INFINITY },
    };
    this.#keep(known);
    return known;
  }

  setOpen(known: BreakerRecord, open: OpenBreaker): void {
    const key = keyOfScope(known.way);
    known.open = open;
    this.#closed.delete(key);
    this.#open.set(key, known);
    const { site } = known.way;
    this.#openBySite.set(site, (this.#openBySite.get(site) ?? new Set()).add(known));
    const [oldest] = this.#open.values();
    if (oldest !== undefined && this.#open.size > LIMITS.breaker.openWays) this.#onForget(oldest);
  }

  setClosed(known: BreakerRecord): void {
    known.open = null;
    this.#open.delete(keyOfScope(known.way));
    const ofSite = this.#openBySite.get(known.way.site);
    ofSite?.delete(known);
    if (ofSite?.size === 0) this.#openBySite.delete(known.way.site);
    this.#keep(known);
  }

  /** Those that are open. */
  open(): BreakerRecord[] {
    return [...this.#open.values()];
  }

  openByKey(key: string): BreakerRecord | undefined {
    return this.#open.get(key);
  }

  /** Those of a site that are open. */
  openAtSite(site: string): ReadonlySet<BreakerRecord> {
    return this.#openBySite.get(site) ?? NONE;
  }

  /** The open breaker that a probe about `domain` would meet. */
  openFor(site: string, path: string, domain: string): BreakerRecord | undefined {
    return this.openByKey(breakerKey(site, path)) ?? this.openByKey(breakerKey(site, path, domain));
  }

  openByProvider(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { way } of this.#open.values()) {
      const provider = way.provider ?? "other";
      counts.set(provider, (counts.get(provider) ?? 0) + 1);
    }
    return counts;
  }

  #keep(known: BreakerRecord): void {
    const key = keyOfScope(known.way);
    this.#closed.delete(key);
    this.#closed.set(key, known);
    const [oldest] = this.#closed.values();
    if (oldest === undefined || this.#closed.size <= LIMITS.breaker.ways) return;
    this.#onForget(oldest);
    this.#closed.delete(keyOfScope(oldest.way));
  }
}

const NONE: ReadonlySet<BreakerRecord> = new Set();
