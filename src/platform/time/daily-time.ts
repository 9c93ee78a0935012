import { LRUCache } from "lru-cache";
import { upTo } from "../lru.ts";
import { type Clock, DAY_MS } from "./clock.ts";

/** Time that each share has used on the present UTC day, in this process. */
export interface DailyTime {
  usedMs(share: string): number;
  add(share: string, ms: number): void;
}

/** Shares that are remembered: those that used any longest ago are forgotten first. */
const SHARES = 10_000;

export function createDailyTime(clock: Pick<Clock, "now">): DailyTime {
  const used = new LRUCache<string, number>(upTo(SHARES));
  let day = Number.NaN;

  function today(): LRUCache<string, number> {
    const current = Math.floor(clock.now() / DAY_MS);
    if (current !== day) used.clear();
    day = current;
    return used;
  }

  return {
    usedMs: (share) => today().get(share) ?? 0,
    add(share, ms) {
      used.set(share, (today().get(share) ?? 0) + ms);
    },
  };
}
