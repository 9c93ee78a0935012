import { LIMITS } from "../../../config/limits/limits.ts";
import type { DeliveryQueue, LaneRestriction } from "../webhook-queue.ts";
import type { AttemptCounts } from "./attempt-counts.ts";

/** A dispatcher's attempts in progress, and when each lane and share (`shareKey`) last started one. */
export interface DispatcherLoad {
  lanes: Pick<AttemptCounts, "inFlight" | "lastStarted">;
  shares: Pick<AttemptCounts, "inFlight" | "lastStarted">;
  /** Attempts in progress in all, and those whose lane had a restriction when they started. */
  total: number;
  restricted: Readonly<Record<LaneRestriction, number>>;
}

export interface LaneShare {
  lane: string;
  take: number;
  restriction: LaneRestriction | null;
}

/** The criteria for the next slot, the weightiest first: the smallest rank goes first. */
type Rank = readonly number[];

function isBefore(a: Rank, b: Rank): boolean {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

/**
 * Distributes the free slots of a dispatcher among lanes with due deliveries, one by one. Each goes to the share (a
 * team's live webhooks, or its test ones) with the fewest attempts in progress, among equals to the one that started longest ago,
 * and within a share likewise. So no slow,
 * backlogged or early lane takes the slots that others need.
 *
 * A webhook gets at most LIMITS.webhooks.inFlightPerWebhook slots, a restricted lane inFlightPerRestricted, a share inFlightPerTeam
 * over all its webhooks, and all lanes of one restriction together inFlightRestricted.
 */
export function shareSlots(lanes: readonly DeliveryQueue[], busy: DispatcherLoad): LaneShare[] {
  const { inFlight, inFlightRestricted, inFlightPerTeam, inFlightPerWebhook, inFlightPerRestricted } =
    LIMITS.webhooks;
  const taken = new Map<string, LaneShare>();
  const ofShares = new Map<string, number>();
  const restricted = { ...busy.restricted };

  const ofLane = ({ lane }: DeliveryQueue) => busy.lanes.inFlight(lane) + (taken.get(lane)?.take ?? 0);
  const ofShare = ({ share }: DeliveryQueue) => busy.shares.inFlight(share) + (ofShares.get(share) ?? 0);
  const mayTake = (lane: DeliveryQueue) => {
    const { restriction } = lane;
    if (ofShare(lane) >= inFlightPerTeam) return false;
    if (restriction === null) return ofLane(lane) < inFlightPerWebhook;
    return ofLane(lane) < inFlightPerRestricted && restricted[restriction] < inFlightRestricted[restriction];
  };
  const rank = (lane: DeliveryQueue): Rank => [
    ofShare(lane),
    busy.shares.lastStarted(lane.share),
    ofLane(lane),
    busy.lanes.lastStarted(lane.lane),
  ];

  let open = lanes.filter(({ due, disabled }) => due && !disabled);
  for (let room = inFlight - busy.total; room > 0; room--) {
    // A lane that may not take now may not in the rest of the round either: counts only grow.
    open = open.filter(mayTake);
    let next: { lane: DeliveryQueue; rank: Rank } | null = null;
    for (const lane of open) {
      const its = rank(lane);
      if (next === null || isBefore(its, next.rank)) next = { lane, rank: its };
    }
    if (next === null) break;
    const { lane, share, restriction } = next.lane;
    taken.set(lane, { lane, take: (taken.get(lane)?.take ?? 0) + 1, restriction });
    ofShares.set(share, (ofShares.get(share) ?? 0) + 1);
    if (restriction !== null) restricted[restriction] += 1;
  }
  return [...taken.values()];
}
