import type { Clock, Timer } from "../../platform/time/clock.ts";

export interface PaceLimits {
  bytesPerS: number;
  graceMs: number;
  lookMs: number;
}

/** How fast one body comes. */
export interface PacedBody {
  received(bytes: number): void;
  /** The connection is not read, by our own doing: this time does not count. */
  paused(): void;
  resumed(): void;
  /** Nothing more of it is waited for. Idempotent. */
  ended(): void;
}

/** The least rate of all bodies that come. */
export interface BodyPace {
  /** @param tooSlow called once, when it has fallen behind */
  watch(tooSlow: () => void): PacedBody;
}

/**
 * Each body has `graceMs` of patience: time that passes takes from it, bytes that come give back what they may take at
 * `bytesPerS`, up to `graceMs` again. So one that is slow ends, also when it began fast. One interval looks at all, while there are any.
 */
export function createBodyPace(clock: Clock, limits: PaceLimits): BodyPace {
  const { bytesPerS, graceMs, lookMs } = limits;
  const bodies = new Set<Body>();
  let timer: Timer | null = null;

  class Body implements PacedBody {
    #patienceMs = graceMs;
    #bytes = 0;
    #isPaused = false;
    #sinceMs = clock.monotonic();
    readonly tooSlow: () => void;

    constructor(tooSlow: () => void) {
      this.tooSlow = tooSlow;
    }

    received(bytes: number): void {
      this.#bytes += bytes;
    }

    paused(): void {
      this.isBehind(clock.monotonic());
      this.#isPaused = true;
    }

    resumed(): void {
      this.#sinceMs = clock.monotonic();
      this.#isPaused = false;
    }

    ended(): void {
      bodies.delete(this);
    }

    isBehind(nowMs: number): boolean {
      if (this.#isPaused) return false;
      const passedMs = Math.min(nowMs - this.#sinceMs, 2 * lookMs);
      const earnedMs = (this.#bytes * 1_000) / bytesPerS;
      this.#patienceMs = Math.min(graceMs, this.#patienceMs - passedMs + earnedMs);
      this.#sinceMs = nowMs;
      this.#bytes = 0;
      return this.#patienceMs < 0;
    }
  }

  function look(): void {
    timer = null;
    const nowMs = clock.monotonic();
    for (const body of bodies) {
      if (!body.isBehind(nowMs)) continue;
      bodies.delete(body);
      body.tooSlow();
    }
    schedule();
  }

  function schedule(): void {
    if (timer === null && bodies.size > 0) timer = clock.after(lookMs, look);
  }

  return {
    watch(tooSlow) {
      const body = new Body(tooSlow);
      bodies.add(body);
      schedule();
      return body;
    },
  };
}
