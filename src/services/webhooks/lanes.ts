import { LIMITS } from "../../core/limits.ts";
import type { Lane } from "../../store/webhook-queue.ts";
import type { Turns } from "./turns.ts";

/** What a dispatcher has under way, and who had a turn when. */
export interface Busy {
  lanes: Pick<Turns, "underWay" | "lastTurn">;
  teams: Pick<Turns, "underWay" | "lastTurn">;
  /** Attempts under way in all, and of those the ones whose lane was failing when they began. */
  total: number;
  failing: number;
}

export interface Share {
  lane: string;
  take: number;
  failing: boolean;
}

/** What decides whose turn it is, the weightiest first: the least goes first. */
type Rank = readonly number[];

function isBefore(a: Rank, b: Rank): boolean {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

/**
 * Shares the free places of a dispatcher out among lanes with something due, one by one: each goes to the team with the
 * fewest attempts under way, among equals to the one whose last turn was longest ago, and within a team likewise. So
 * nobody who is slow, has a backlog or was here first takes what others need. A webhook gets
 * LIMITS.webhooks.inFlightPerWebhook at most, one whose last attempt failed inFlightPerFailing, a team inFlightPerTeam
 * over all its webhooks, and all that fail inFlightFailing together: the rest of the places they cannot take.
 */
export function shareOut(lanes: readonly Lane[], busy: Busy): Share[] {
  const { inFlight, inFlightFailing, inFlightPerTeam, inFlightPerWebhook, inFlightPerFailing } =
    LIMITS.webhooks;
  const shares = new Map<string, Share>();
  const teams = new Map<string, number>();
  let failing = busy.failing;

  const ofLane = ({ lane }: Lane) => busy.lanes.underWay(lane) + (shares.get(lane)?.take ?? 0);
  const ofTeam = ({ teamId }: Lane) => busy.teams.underWay(teamId) + (teams.get(teamId) ?? 0);
  const mayTake = (lane: Lane) =>
    ofTeam(lane) < inFlightPerTeam &&
    ofLane(lane) < (lane.failing ? inFlightPerFailing : inFlightPerWebhook) &&
    (!lane.failing || failing < inFlightFailing);
  const rank = (lane: Lane): Rank => [
    ofTeam(lane),
    busy.teams.lastTurn(lane.teamId),
    ofLane(lane),
    busy.lanes.lastTurn(lane.lane),
  ];

  let open = lanes.filter(({ due, disabled }) => due && !disabled);
  for (let room = inFlight - busy.total; room > 0; room--) {
    // What may not take now may not in the rest of the round either: counts only grow.
    open = open.filter(mayTake);
    let next: { lane: Lane; rank: Rank } | null = null;
    for (const lane of open) {
      const its = rank(lane);
      if (next === null || isBefore(its, next.rank)) next = { lane, rank: its };
    }
    if (next === null) break;
    const { lane, teamId } = next.lane;
    shares.set(lane, { lane, take: (shares.get(lane)?.take ?? 0) + 1, failing: next.lane.failing });
    teams.set(teamId, (teams.get(teamId) ?? 0) + 1);
    if (next.lane.failing) failing += 1;
  }
  return [...shares.values()];
}
