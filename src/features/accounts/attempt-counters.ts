import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { upTo } from "../../platform/lru.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { AttemptCounters } from "./attempt-counter-sql.ts";

interface Counter {
  count: number;
  endsAtMs: number;
}

/** Counters of this process alone, at most LIMITS.portal.localCounters: the least used are forgotten first. */
export function createLocalCounters(clock: Clock): AttemptCounters {
  const counters = new LRUCache<string, Counter>(upTo(LIMITS.portal.localCounters));

  function current(key: string): Counter | undefined {
    const counter = counters.get(key);
    return counter !== undefined && counter.endsAtMs > clock.monotonic() ? counter : undefined;
  }

  return {
    async count(counts) {
      const nowMs = clock.monotonic();
      const waits = counts.map(({ key, limit }) => {
        const counter = current(key);
        return counter !== undefined && counter.count >= limit ? counter.endsAtMs - nowMs : 0;
      });
      const fullMs = Math.max(...waits);
      if (fullMs > 0) return fullMs;
      for (const { key, windowMs } of counts) {
        const { count, endsAtMs } = current(key) ?? { count: 0, endsAtMs: nowMs + windowMs };
        counters.set(key, { count: count + 1, endsAtMs });
      }
      return 0;
    },

    async settle({ clear, mark, markMs }) {
      for (const key of clear) counters.delete(key);
      counters.set(mark, { count: 1, endsAtMs: clock.monotonic() + markMs });
    },

    isMarked: async (mark) => current(mark) !== undefined,
  };
}

/**
 * Counters shared by all processes and, while Redis does not answer, this process's own: n processes then allow n times as
 * much, instead of everything or nothing. Settling that fails is not repeated: counters end by themselves.
 */
export function createSharedAttemptCounters(deps: {
  shared: AttemptCounters;
  clock: Clock;
  log: Logger;
}): AttemptCounters {
  const { shared, clock, log } = deps;
  const local = createLocalCounters(clock);
  let askAgainAtMs = Number.NEGATIVE_INFINITY;

  async function ask<T>(question: (counters: AttemptCounters) => Promise<T>): Promise<T> {
    if (clock.monotonic() < askAgainAtMs) return question(local);
    try {
      return await question(shared);
    } catch (error) {
      askAgainAtMs = clock.monotonic() + LIMITS.portal.storeRetryMs;
      log.debug({ err: error }, "counting attempts in this process alone");
      return question(local);
    }
  }

  return {
    count: (counts) => ask((counters) => counters.count(counts)),
    settle: (outcome) => ask((counters) => counters.settle(outcome)),
    isMarked: (mark) => ask((counters) => counters.isMarked(mark)),
  };
}
