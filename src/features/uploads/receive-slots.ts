import { AppError } from "../../platform/errors.ts";
import { createTeamSlots, type TeamSlots } from "../../platform/team-slots.ts";

/** Files on their way in: of the process, of a team, and those kept for teams that have none. */
interface ReceiveSlotLimits {
  streamed: number;
  streamedPerTeam: number;
  streamedKept: number;
}

/** Places for files on their way in, each of which holds some memory; of them a team has a part at most. */
export function createReceiveSlots(limits: ReceiveSlotLimits): TeamSlots {
  const { streamed, streamedPerTeam, streamedKept } = limits;
  return createTeamSlots({ all: streamed, ofTeam: streamedPerTeam, kept: streamedKept }, (full) =>
    full === "team"
      ? new AppError("limit_reached", `A team may send at most ${streamedPerTeam} files at once.`)
      : new AppError("overloaded", "Too many files are being sent. Retry after 5 s.", { retryAfterS: 5 }),
  );
}
