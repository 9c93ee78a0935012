import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { DepthLesson } from "./depth.ts";
import { SessionLimits } from "./session-limits.ts";

/** What the servers of a site have taught a thread; all its hosts there share it. */
export class SiteLessons {
  readonly depth = new DepthLesson();
  readonly limits = new SessionLimits();

  get any(): boolean {
    return this.depth.ceiling.isKnown || this.limits.isWorthKeeping;
  }
}

/** Lessons of sites that are left, in case they are asked again: `LIMITS.learnt.sites` for `LIMITS.learnt.memoryMs`. */
export class LessonMemory {
  readonly #clock: Clock;
  readonly #kept = new LRUCache<string, { lessons: SiteLessons; until: number }>({
    max: LIMITS.learnt.sites,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(site: string, lessons: SiteLessons): void {
    if (!lessons.any) return;
    this.#kept.set(site, { lessons, until: this.#clock.monotonic() + LIMITS.learnt.memoryMs });
  }

  /** What is remembered of `site`, or a new page. */
  recall(site: string): SiteLessons {
    const kept = this.#kept.get(site);
    return kept && this.#clock.monotonic() < kept.until ? kept.lessons : new SiteLessons();
  }
}
