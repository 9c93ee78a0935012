import type { Clock, Timer } from "../../platform/time/clock.ts";

export interface PaceLimits {
  bytesPerS: number;
  graceMs: number;
  lookMs: number;
}

/** The pace of one body. */
export interface PacedBody {
  received(bytes: number): void;
  /** We do not read the connection: this time does not count. */
  paused(): void;
  resumed(): void;
  /** No more bytes are expected. Idempotent. */
  ended(): void;
}

/** Ends bodies that arrive too slowly. */
export interface BodyPace {
  /** @param tooSlow called once, when it has fallen behind */
  watch(tooSlow: () => void): PacedBody;
}

/**
 * Each body has a reserve of `graceMs`. Time reduces it; received bytes add the time that they may take at `bytesPerS`, up
 * to `graceMs`. So a slow body ends even if it began fast. One interval checks all bodies, while there are any.
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
