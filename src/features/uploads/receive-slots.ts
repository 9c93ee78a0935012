import { createTeamSlots, type TeamSlots, tooMany } from "../../platform/team-slots.ts";

/** Files on their way in: of the process, of a share (`shareKey`), and those kept for shares that have none. */
interface ReceiveSlotLimits {
  streamed: number;
  streamedPerTeam: number;
  streamedKept: number;
}

/**
 * Slots for files on their way in, each of which holds some memory; of them a share has a part at most: `rate_limited`, since a
 * slot is free again when one of its files has been received.
 */
export function createReceiveSlots(limits: ReceiveSlotLimits): TeamSlots {
  const { streamed, streamedPerTeam, streamedKept } = limits;
  const limitsOfSlots = { all: streamed, perShare: streamedPerTeam, kept: streamedKept };
  return createTeamSlots(limitsOfSlots, tooMany("files", streamedPerTeam));
}
