import { AppError } from "./errors.ts";

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
   * @param share of the team, or of its test keys: see `shareKey`
   * @returns how to give the place back; idempotent
   * @throws AppError the refusal
   */
  take(share: string): () => void;
}

/** Who has no place left: the team, or the process for it. */
export type FullSlots = "team" | "process";

export function createTeamSlots(
  { all, ofTeam, kept = 0 }: TeamSlotLimits,
  refusal: (full: FullSlots) => AppError,
): TeamSlots {
  /** Slots by share, for those that have any. */
  const taken = new Map<string, number>();
  let total = 0;

  function giveBack(share: string): void {
    total -= 1;
    const left = (taken.get(share) ?? 1) - 1;
    if (left === 0) taken.delete(share);
    else taken.set(share, left);
  }

  return {
    take(share) {
      const mine = taken.get(share) ?? 0;
      if (mine >= ofTeam) throw refusal("team");
      if (total >= (mine === 0 ? all : all - kept)) throw refusal("process");
      total += 1;
      taken.set(share, mine + 1);
      let holds = true;
      return () => {
        if (holds) giveBack(share);
        holds = false;
      };
    },
  };
}

/** @param what there are too many of: a team that has `ofTeam` of them gets `rate_limited`, others `overloaded` */
export function tooMany(what: string, ofTeam: number): (full: FullSlots) => AppError {
  const options = { retryAfterS: 5 };
  return (full) =>
    full === "team"
      ? new AppError("rate_limited", `The team has ${ofTeam} ${what} under way here.`, options)
      : new AppError("overloaded", `Too many ${what} are under way.`, options);
}
