import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { TeamOverlay } from "../identity/actor.ts";
import type { AuthChanges } from "./auth-changes.ts";
import type { TeamDomainsReader } from "./team-domains.ts";
import { createTeamLists, type TeamLists } from "./team-lists.ts";

export interface OverlaysDeps {
  changes: Pick<AuthChanges, "since">;
  domains: TeamDomainsReader;
  clock: Pick<Clock, "monotonic">;
  log: Logger;
}

/** The overlay of every team without entries. */
const NOTHING: TeamOverlay = { isBlocked: () => false, isDisposable: () => false };

/** The lists as an overlay; each version of them has an object of its own. */
function overlayOf(lists: TeamLists): TeamOverlay {
  if (lists.size === 0) return NOTHING;
  return {
    isBlocked: (domain) => lists.isBlocked(domain),
    isDisposable: (domain) => lists.isDisposable(domain),
  };
}

/**
 * The domain lists of teams for a worker's jobs, which have no credential to read them with. They are read once for each
 * team and updated by the change feed. For each job the feed is read again after LIMITS.bulk.overlaysFreshMs, since each of
 * its chunks asks. A job that was submitted after a change applies it from its first row on.
 *
 * While a team's lists are unchanged the object is the same: callers key their caches by it.
 */
export function createOverlays(deps: OverlaysDeps): (teamId: string, jobId: string) => Promise<TeamOverlay> {
  const { changes, clock } = deps;
  const { overlaysFreshMs, overlaysKept } = LIMITS.bulk;
  const store = createTeamLists({ ...deps, onEvicted: () => undefined });
  /** When the feed was last read for a job, by its id. */
  const followed = new LRUCache<string, number>({ max: 2 * overlaysKept });
  const overlays = new WeakMap<TeamLists, { version: number; overlay: TeamOverlay }>();
  let cursor: string | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function readChanges(): Promise<void> {
    const beganMs = clock.monotonic();
    const last = cursor;
    // Should it fail, nothing is known of the time up to the next one: see feed.ts.
    cursor = null;
    const page = await changes.since(last);
    // Older changes may be pruned.
    const gap = beganMs - readAtMs > LIMITS.keys.changesKeptMs / 2;
    if (last === null || gap || page.overflow) store.reset();
    else for (const { subject, domains } of page.changes) if (domains) store.changed(subject, domains);
    cursor = page.cursor;
    readAtMs = beganMs;
  }

  /** Resolves when all is noted that was committed before the call: one read at a time, and one that begins behind it. */
  function follow(): Promise<void> {
    if (reading === null) {
      reading = readChanges().finally(() => {
        reading = null;
      });
      return reading;
    }
    next ??= reading
      .catch(() => undefined)
      .then(() => {
        next = null;
        return follow();
      });
    return next;
  }

  return async (teamId, jobId) => {
    const askedMs = clock.monotonic();
    if (askedMs - (followed.get(jobId) ?? Number.NEGATIVE_INFINITY) >= overlaysFreshMs) {
      await follow();
      followed.set(jobId, askedMs);
    }
    const lists = await store.of(teamId, Number.NEGATIVE_INFINITY);
    const known = overlays.get(lists);
    if (known?.version === lists.version) return known.overlay;
    const overlay = overlayOf(lists);
    overlays.set(lists, { version: lists.version, overlay });
    return overlay;
  };
}
