import { AppError } from "./errors.ts";

/**
 * How many there may be at once: in this process, and of one share in it. A share is a team's live requests, or those of its test
 * keys (`shareKey`), so a team may have twice `perShare`.
 */
export interface TeamSlotLimits {
  all: number;
  perShare: number;
  /** Slots of `all` that are kept for shares that have none: few teams whose clients are slow do not keep the others out. */
  kept?: number;
}

/** Places for what lasts, and must not be had without end. */
export interface TeamSlots {
  /**
   * @param share see `shareKey`
   * @returns how to give the place back; idempotent
   * @throws AppError the refusal
   */
  take(share: string): () => void;
}

/** What has no slot left: the share, or the process. */
export type FullSlots = "share" | "process";

export function createTeamSlots(
  { all, perShare, kept = 0 }: TeamSlotLimits,
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
      if (mine >= perShare) throw refusal("share");
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

/** @param what there are too many of: a share that has `perShare` of them gets `rate_limited`, others `overloaded` */
export function tooMany(what: string, perShare: number): (full: FullSlots) => AppError {
  const options = { retryAfterS: 5 };
  return (full) =>
    full === "share"
      ? new AppError("rate_limited", `The team has ${perShare} ${what} under way here.`, options)
      : new AppError("overloaded", `Too many ${what} are under way.`, options);
}
