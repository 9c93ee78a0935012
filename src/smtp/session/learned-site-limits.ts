import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { LearnedDepthLimit } from "./pipeline-depth.ts";
import { SessionLimits } from "./session-limits.ts";

/** Limits that one thread has learned of a site; all hosts of the site share them. */
export class LearnedSiteLimits {
  readonly depth = new LearnedDepthLimit();
  readonly limits = new SessionLimits();

  get isWorthKeeping(): boolean {
    return this.depth.limit.isKnown || this.limits.isWorthKeeping;
  }
}

/** Learned limits of sites without sessions, cached for later: `LIMITS.learned.sites` sites for `LIMITS.learned.memoryMs`. */
export class LearnedSiteLimitsCache {
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, { limits: LearnedSiteLimits; until: number }>({
    max: LIMITS.learned.sites,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  store(site: string, limits: LearnedSiteLimits): void {
    if (!limits.isWorthKeeping) return;
    this.#cache.set(site, { limits, until: this.#clock.monotonic() + LIMITS.learned.memoryMs });
  }

  /** The learned limits of `site`, or new ones. */
  recall(site: string): LearnedSiteLimits {
    const kept = this.#cache.get(site);
    return kept && this.#clock.monotonic() < kept.until ? kept.limits : new LearnedSiteLimits();
  }
}
