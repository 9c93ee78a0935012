import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { SweepOutcome, TeamRemoval, TeamRemovals } from "../store/team-removals.ts";
import type { Chore } from "./relay.ts";

export interface TeamRemovalDeps {
  removals: TeamRemovals;
  /** Deletes one page of what is below a prefix; true when nothing is left. */
  deleteBelow(prefix: string): Promise<boolean>;
  log: Logger;
}

/**
 * The objects of deleted teams go, below `teams/<team>/`: soon after the deletion, and once more a day later. What is
 * written in between, by a presigned upload or by a process that has not heard of the deletion, goes with the second
 * sweep. Deleting is idempotent, so a sweep that was cut off, or made by two relays at once, does no harm.
 */
export function teamRemovalChores({ removals, deleteBelow, log }: TeamRemovalDeps): Chore[] {
  async function sweep({ teamId }: TeamRemoval, isStopping: () => boolean): Promise<SweepOutcome> {
    try {
      for (let page = 0; page < LIMITS.removals.pagesPerTurn && !isStopping(); page++)
        if (await deleteBelow(`teams/${teamId}/`)) return "clean";
      return "more";
    } catch (error) {
      log.warn({ err: error, team: teamId }, "the objects of a deleted team could not be deleted");
      return "failed";
    }
  }

  async function workOff(isStopping: () => boolean): Promise<void> {
    for (let turn = 0; turn < LIMITS.removals.perRound && !isStopping(); turn++) {
      const removal = await removals.take();
      if (removal === null) return;
      const outcome = await sweep(removal, isStopping);
      await removals.bringBack(removal, outcome);
      // The next one would meet the same.
      if (outcome === "failed") return;
    }
  }

  return [{ name: "remove teams", everyMs: LIMITS.removals.everyMs, run: workOff }];
}
