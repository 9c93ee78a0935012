import type { Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { Tally } from "./tally.ts";
import { keyOf, type Way, wayKey } from "./way.ts";

export interface Open {
  /** `Clock.monotonic` milliseconds, as the next trial's. */
  sinceMs: number;
  dueAt: number;
  /** How often it was opened again. */
  level: number;
  reply: string;
  trial: { token: string; timer: Timer } | null;
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

/** The ways that are remembered, at most LIMITS.breaker.ways. */
export class KnownWays {
  /** The longest untouched first. */
  readonly #known = new Map<string, Known>();
  readonly #open = new Map<string, Known>();
  readonly #forgotten: (known: Known) => void;

  /** @param forgotten told of a way that has to go for others, before it does */
  constructor(forgotten: (known: Known) => void) {
    this.#forgotten = forgotten;
  }

  get(key: string): Known | undefined {
    return this.#known.get(key);
  }

  all(): Iterable<Known> {
    return this.#known.values();
  }

  /** Remembered from now on, and untouched by nobody. */
  of(way: Way): Known {
    const key = keyOf(way);
    const fresh = () => ({
      ...{ way, tally: new Tally(), open: null },
      ...{ level: 0, warnedUntil: 0, lookedAt: Number.NEGATIVE_INFINITY },
    });
    const known = this.#known.get(key) ?? fresh();
    this.#known.delete(key);
    this.#known.set(key, known);
    if (this.#known.size > LIMITS.breaker.ways) this.#forgetOldest();
    return known;
  }

  setOpen(known: Known, open: Open): void {
    known.open = open;
    this.#open.set(keyOf(known.way), known);
  }

  setClosed(known: Known): void {
    known.open = null;
    this.#open.delete(keyOf(known.way));
  }

  /** Those that are open. */
  open(): Known[] {
    return [...this.#open.values()];
  }

  openBy(key: string): Known | undefined {
    return this.#open.get(key);
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

  #forgetOldest(): void {
    const [oldest] = this.#known.values();
    if (oldest === undefined) return;
    this.#forgotten(oldest);
    this.#known.delete(keyOf(oldest.way));
  }
}
