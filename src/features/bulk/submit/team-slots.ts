import { AppError } from "../../../platform/errors.ts";

/** How many there may be at once: in this process, and of one team in it. */
export interface TeamSlotLimits {
  all: number;
  ofTeam: number;
  /** Slots of `all` that are kept for teams that have none: few teams whose clients are slow do not keep the others out. */
  kept?: number;
}

/** Places for what lasts, and must not be had without end. */
export interface TeamSlots {
  /**
   * @returns how to give the place back; idempotent
   * @throws AppError `overloaded` when the process has none left, `rate_limited` when the team has none
   */
  take(teamId: string): () => void;
}

const RETRY_AFTER_S = 5;

/** @param what there are too many of */
export function createTeamSlots({ all, ofTeam, kept = 0 }: TeamSlotLimits, what: string): TeamSlots {
  /** Slots by team, for teams that have any. */
  const taken = new Map<string, number>();
  let total = 0;

  function giveBack(teamId: string): void {
    total -= 1;
    const left = (taken.get(teamId) ?? 1) - 1;
    if (left === 0) taken.delete(teamId);
    else taken.set(teamId, left);
  }

  return {
    take(teamId) {
      const mine = taken.get(teamId) ?? 0;
      const options = { retryAfterS: RETRY_AFTER_S };
      if (mine >= ofTeam)
        throw new AppError("rate_limited", `The team has ${ofTeam} ${what} under way here.`, options);
      if (total >= (mine === 0 ? all : all - kept))
        throw new AppError("overloaded", `Too many ${what} are under way.`, options);
      total += 1;
      taken.set(teamId, mine + 1);
      let holds = true;
      return () => {
        if (holds) giveBack(teamId);
        holds = false;
      };
    },
  };
}
