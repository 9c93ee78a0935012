import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/**
 * Circuit breaker of a way (site × path), of one thread: when the replies there say that *we* are blocked, asking on makes it worse and tells nothing
 * about recipients. Closed → open after `blocksToOpen` such replies in a row → half-open after `openMs`: one probe
 * goes through; its end closes the breaker or opens it again.
 */
export interface Breaker {
  /** May a probe go this way now? When half-open, true for one caller only until that one reports. */
  allows(way: string): boolean;
  blocked(way: string): void;
  /** The server has talked to us about a sender or a recipient, and did not block us. */
  passed(way: string): void;
}

/** The key of a breaker. */
export function wayKey(site: string, path: string): string {
  return `${site} ${path}`;
}

interface SiteState {
  blocks: number;
  openUntil: number;
}

export function createBreaker(clock: Clock): Breaker {
  const { blocksToOpen, openMs, sitesRemembered } = LIMITS.breaker;
  const sites = new Map<string, SiteState>();
  return {
    allows(site) {
      const state = sites.get(site);
      if (!state || state.blocks < blocksToOpen) return true;
      const now = clock.monotonic();
      if (now < state.openUntil) return false;
      state.openUntil = now + openMs;
      return true;
    },
    blocked(site) {
      const state = sites.get(site) ?? { blocks: 0, openUntil: 0 };
      state.blocks += 1;
      if (state.blocks >= blocksToOpen) state.openUntil = clock.monotonic() + openMs;
      sites.delete(site);
      sites.set(site, state);
      if (sites.size > sitesRemembered) sites.delete(sites.keys().next().value ?? site);
    },
    passed(site) {
      sites.delete(site);
    },
  };
}
