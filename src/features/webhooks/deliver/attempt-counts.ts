import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import { upTo } from "../../../platform/lru.ts";

/** Attempts by lane or by team: how many are in progress, and when the last one started. */
export interface AttemptCounts {
  begin(name: string): void;
  end(name: string): void;
  inFlight(name: string): number;
  /** The later the start, the greater; 0: none yet, or LIMITS.webhooks.turnsKept others started since. */
  lastStarted(name: string): number;
}

export function createAttemptCounts(): AttemptCounts {
  const counts = new Map<string, number>();
  const last = new LRUCache<string, number>(upTo(LIMITS.webhooks.turnsKept));
  let turn = 0;
  return {
    begin(name) {
      turn += 1;
      last.set(name, turn);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    end(name) {
      const count = (counts.get(name) ?? 0) - 1;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    },
    inFlight: (name) => counts.get(name) ?? 0,
    lastStarted: (name) => last.peek(name) ?? 0,
  };
}
