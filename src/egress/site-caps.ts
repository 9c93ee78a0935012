import { LRUCache } from "lru-cache";
import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";
import { LearnedLimit } from "../smtp/session/learned-limit.ts";

/**
 * The number of connections of this process that a site accepts, learned from its refusals. `site` is a key of slots. A
 * refusal halves the open connections. A cap in full use without refusals for a while grows by one, up to the number that
 * was refused last, which is retried less and less often. A cap that has returned to the policy's is forgotten.
 *
 * Connections above a cap are not closed: the server accepts them. While there are more than the cap allows, an earlier cut
 * is still taking effect, and refusals teach nothing new.
 *
 * Each process learns for itself. What all processes of an egress hold stays within the policy's cap, which they share, and
 * within the sum of their learned caps. Each process may always hold at least one.
 */
export interface SiteCaps {
  /**
   * Connections that this process may hold, 1 to `max`. To be asked whenever one more is wanted.
   * @param open connections that it holds
   */
  limit(site: string, max: number, open: number): number;
  /** The site had no room for `open` connections of this process, the one refused among them. */
  onCrowded(site: string, open: number): void;
  /** Sites that are held below their policy's cap, and the connections that each may have. */
  reduced(): { site: string; connections: number }[];
}

interface Cap {
  now: number;
  readonly ceiling: LearnedLimit;
  /** When it fell, or grew, last. */
  changedAt: number;
  fellAt: number;
  askedAt: number;
}

export interface SiteCapsDeps {
  clock: Clock;
  /** A site is held down from now on: `open` connections were too many, `cap` may be held. */
  onReduced(site: string, open: number, cap: number): void;
}

class LearnedCaps implements SiteCaps {
  readonly #deps: SiteCapsDeps;
  readonly #caps = new LRUCache<string, Cap>({ max: LIMITS.learned.sites });

  constructor(deps: SiteCapsDeps) {
    this.#deps = deps;
  }

  limit(site: string, max: number, open: number): number {
    const cap = this.#caps.get(site);
    if (cap === undefined) return max;
    const now = this.#deps.clock.monotonic();
    if (isStale(cap, now)) {
      this.#caps.delete(site);
      return max;
    }
    cap.askedAt = now;
    if (open >= cap.now && now - cap.changedAt >= LIMITS.learned.raiseEveryMs) this.#raise(cap, now);
    if (cap.now > max) this.#caps.delete(site);
    return Math.min(cap.now, max);
  }

  onCrowded(site: string, open: number): void {
    const now = this.#deps.clock.monotonic();
    const known = this.#caps.get(site);
    if (known && (open > known.now || now - known.fellAt < LIMITS.learned.crowdedEveryMs)) return;
    const cap = known ?? { now: 0, ceiling: new LearnedLimit(), changedAt: now, fellAt: now, askedAt: now };
    cap.ceiling.lower(Math.max(1, open - 1), now);
    cap.now = Math.max(1, Math.min(Math.ceil(open / 2), open - 1));
    cap.changedAt = now;
    cap.fellAt = now;
    if (known === undefined) {
      this.#caps.set(site, cap);
      this.#deps.onReduced(site, open, cap.now);
    }
  }

  reduced(): { site: string; connections: number }[] {
    const now = this.#deps.clock.monotonic();
    for (const [site, cap] of this.#caps) if (isStale(cap, now)) this.#caps.delete(site);
    return [...this.#caps].map(([site, cap]) => ({ site, connections: cap.now }));
  }

  /** Raises a cap that was in full use for a while without a refusal. */
  #raise(cap: Cap, now: number): void {
    cap.ceiling.recordSuccess(cap.now, now);
    if (cap.now >= cap.ceiling.safeMax && cap.ceiling.take(now) === cap.ceiling.safeMax) return;
    cap.now++;
    cap.changedAt = now;
  }
}

/** No connection to the site was asked for in a long time. */
function isStale(cap: Cap, now: number): boolean {
  return now - cap.askedAt >= LIMITS.learned.memoryMs;
}

export function createSiteCaps(deps: SiteCapsDeps): SiteCaps {
  return new LearnedCaps(deps);
}
