import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Queryable } from "../../store/postgres.ts";
import { readTeamDomains } from "../../store/team-domains.ts";
import type { TeamOverlay } from "../actor.ts";
import { createOverlay } from "./overlay.ts";

export interface OverlaysDeps {
  sql: Queryable;
  clock: Pick<Clock, "monotonic">;
}

/**
 * What teams say of domains, for who has no credential to read it with: as Postgres has it, kept for
 * LIMITS.bulk.overlaysFreshMs, since each chunk of a job asks, and a team may have ten thousand domains.
 */
export function createOverlays({ sql, clock }: OverlaysDeps): (teamId: string) => Promise<TeamOverlay> {
  const { overlaysFreshMs, overlaysKept } = LIMITS.bulk;
  /** In the order in which they were read. */
  const known = new Map<string, { readMs: number; overlay: Promise<TeamOverlay> }>();

  return (teamId) => {
    const now = clock.monotonic();
    const found = known.get(teamId);
    if (found !== undefined && now - found.readMs < overlaysFreshMs) return found.overlay;
    const fresh = { readMs: now, overlay: readTeamDomains(sql, teamId).then(createOverlay) };
    known.delete(teamId);
    known.set(teamId, fresh);
    for (const [oldest] of known) {
      if (known.size <= overlaysKept) break;
      known.delete(oldest);
    }
    fresh.overlay.catch(() => {
      if (known.get(teamId) === fresh) known.delete(teamId);
    });
    return fresh.overlay;
  };
}
