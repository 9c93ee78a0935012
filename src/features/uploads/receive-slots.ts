import { AppError } from "../../platform/errors.ts";

/** Files on their way in: of the process, of a team, and those kept for teams that have none. */
interface ReceiveSlotLimits {
  streamed: number;
  streamedPerTeam: number;
  streamedKept: number;
}

/** Places for files on their way in, each of which holds some memory; of them a team has a part at most. */
export function createReceiveSlots(limits: ReceiveSlotLimits) {
  const { streamed, streamedPerTeam, streamedKept } = limits;
  const byTeam = new Map<string, number>();
  let taken = 0;
  return {
    /** @returns how to release the slot. @throws AppError `limit_reached`, `overloaded` */
    take(teamId: string): () => void {
      const own = byTeam.get(teamId) ?? 0;
      if (own >= streamedPerTeam)
        throw new AppError("limit_reached", `A team may send at most ${streamedPerTeam} files at once.`);
      // Few teams with slow clients must not keep the others out.
      if (taken >= (own === 0 ? streamed : streamed - streamedKept))
        throw new AppError("overloaded", "Too many files are being sent. Retry after 5 s.", {
          retryAfterS: 5,
        });
      taken++;
      byTeam.set(teamId, own + 1);
      return () => {
        taken--;
        const left = (byTeam.get(teamId) ?? 1) - 1;
        if (left > 0) byTeam.set(teamId, left);
        else byTeam.delete(teamId);
      };
    },
  };
}
