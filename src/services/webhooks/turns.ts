import { LRUCache } from "lru-cache";
import { LIMITS } from "../../core/limits.ts";

/** Attempts by the lane, or by the team, that they are for: how many are under way, and when the last one began. */
export interface Turns {
  begin(name: string): void;
  end(name: string): void;
  underWay(name: string): number;
  /** The later the turn, the greater; 0: none yet, or LIMITS.webhooks.turnsKept others had one since. */
  lastTurn(name: string): number;
}

export function createTurns(): Turns {
  const counts = new Map<string, number>();
  const last = new LRUCache<string, number>({ max: LIMITS.webhooks.turnsKept });
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
    underWay: (name) => counts.get(name) ?? 0,
    lastTurn: (name) => last.peek(name) ?? 0,
  };
}
