import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { RecentMap } from "../../core/recent-map.ts";
import type { Queryable } from "../../store/postgres.ts";
import { readTeamDomains, type TeamDomains } from "../../store/team-domains.ts";
import type { TeamOverlay } from "../actor.ts";
import { createOverlay } from "./overlay.ts";

export interface OverlaysDeps {
  sql: Queryable;
  clock: Pick<Clock, "monotonic">;
}

/**
 * What teams say of domains, for who has no credential to read it with: as Postgres has it, kept for
 * LIMITS.bulk.overlaysFreshMs, since each chunk of a job asks, and a team may have ten thousand domains. Of each job by
 * itself: one that was submitted after a change knows of it from its first row on. What a team says as before is the same object, as
 * long as no more than some teams have jobs: others keep what they have found by it.
 */
export function createOverlays({
  sql,
  clock,
}: OverlaysDeps): (teamId: string, jobId: string) => Promise<TeamOverlay> {
  const { overlaysFreshMs, overlaysKept } = LIMITS.bulk;
  /** In the order in which they were read. */
  const known = new Map<string, { readMs: number; overlay: Promise<TeamOverlay> }>();

  /** By the team, what was read last, with its hash: for certain of as many teams as jobs are kept, at most of twice as many. */
  const said = new RecentMap<string, { hash: string; overlay: TeamOverlay }>(2 * overlaysKept);

  function overlayFrom(teamId: string, domains: TeamDomains): TeamOverlay {
    // Always the same object.
    if (domains.blocklist.length === 0 && domains.disposable.length === 0) return createOverlay(domains);
    const hash = createHash("sha256").update(JSON.stringify(domains)).digest("base64");
    const before = said.get(teamId);
    if (before?.hash === hash) return before.overlay;
    const overlay = createOverlay(domains);
    said.set(teamId, { hash, overlay });
    return overlay;
  }

  return (teamId, jobId) => {
    const now = clock.monotonic();
    const key = `${teamId} ${jobId}`;
    const found = known.get(key);
    if (found !== undefined && now - found.readMs < overlaysFreshMs) return found.overlay;
    const overlay = readTeamDomains(sql, teamId).then((domains) => overlayFrom(teamId, domains));
    const fresh = { readMs: now, overlay };
    known.delete(key);
    known.set(key, fresh);
    for (const [oldest, { readMs }] of known) {
      if (known.size <= overlaysKept && now - readMs < overlaysFreshMs) break;
      known.delete(oldest);
    }
    fresh.overlay.catch(() => {
      if (known.get(key) === fresh) known.delete(key);
    });
    return fresh.overlay;
  };
}
