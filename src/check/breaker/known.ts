import type { Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { Tally } from "./tally.ts";
import { keyOf, type Way, wayKey } from "./way.ts";

export interface Open {
  /** `Clock.monotonic` milliseconds, as the next trial's. */
  sinceMs: number;
  dueAt: number;
  /** It is another process's trial that is waited for until then. */
  isElsewhere: boolean;
  /** How often it was opened again. */
  level: number;
  reply: string;
  trial: { token: string; timer: Timer } | null;
  /** Of a site: domains that its trials met a block of since it was due, with the time of the last. */
  blockedDomains: Map<string, number>;
  /** The store is being asked for the trial. */
  asking: boolean;
}

/** A way that has blocked somebody lately. */
export interface Known {
  way: Way;
  tally: Tally;
  open: Open | null;
  /** Of the last opening, and until when the next one goes on from there. */
  level: number;
  warnedUntil: number;
  lookedAt: number;
}

/** The ways that are remembered: at most LIMITS.breaker.ways closed ones, and LIMITS.breaker.openWays open ones beside them. */
export class KnownWays {
  /** The longest untouched first. */
  readonly #closed = new Map<string, Known>();
  /** The longest open first. */
  readonly #open = new Map<string, Known>();
  readonly #openBySite = new Map<string, Set<Known>>();
  readonly #forgotten: (known: Known) => void;

  /** @param forgotten told of a way that has to go for others, before it does; it closes an open one */
  constructor(forgotten: (known: Known) => void) {
    this.#forgotten = forgotten;
  }

  get(key: string): Known | undefined {
    return this.#open.get(key) ?? this.#closed.get(key);
  }

  all(): Known[] {
    return [...this.#open.values(), ...this.#closed.values()];
  }

  /** Remembered from now on, and untouched by nobody. */
  of(way: Way): Known {
    const key = keyOf(way);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const known = this.#closed.get(key) ?? {
      ...{ way, tally: new Tally(), open: null },
      ...{ level: 0, warnedUntil: 0, lookedAt: Number.NEGATIVE_INFINITY },
    };
    this.#keep(known);
    return known;
  }

  setOpen(known: Known, open: Open): void {
    const key = keyOf(known.way);
    known.open = open;
    this.#closed.delete(key);
    this.#open.set(key, known);
    const { site } = known.way;
    this.#openBySite.set(site, (this.#openBySite.get(site) ?? new Set()).add(known));
    const [oldest] = this.#open.values();
    if (oldest !== undefined && this.#open.size > LIMITS.breaker.openWays) this.#forgotten(oldest);
  }

  setClosed(known: Known): void {
    known.open = null;
    this.#open.delete(keyOf(known.way));
    const ofSite = this.#openBySite.get(known.way.site);
    ofSite?.delete(known);
    if (ofSite?.size === 0) this.#openBySite.delete(known.way.site);
    this.#keep(known);
  }

  /** Those that are open. */
  open(): Known[] {
    return [...this.#open.values()];
  }

  openBy(key: string): Known | undefined {
    return this.#open.get(key);
  }

  /** Those of a site that are open. */
  openOf(site: string): ReadonlySet<Known> {
    return this.#openBySite.get(site) ?? NONE;
  }

  /** The open breaker that a probe about `domain` would meet. */
  openAt(site: string, path: string, domain: string): Known | undefined {
    return this.openBy(wayKey(site, path)) ?? this.openBy(wayKey(site, path, domain));
  }

  openByProvider(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { way } of this.#open.values()) {
      const provider = way.provider ?? "other";
      counts.set(provider, (counts.get(provider) ?? 0) + 1);
    }
    return counts;
  }

  #keep(known: Known): void {
    const key = keyOf(known.way);
    this.#closed.delete(key);
    this.#closed.set(key, known);
    const [oldest] = this.#closed.values();
    if (oldest === undefined || this.#closed.size <= LIMITS.breaker.ways) return;
    this.#forgotten(oldest);
    this.#closed.delete(keyOf(oldest.way));
  }
}

const NONE: ReadonlySet<Known> = new Set();
