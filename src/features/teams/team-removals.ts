import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { PeriodicTask } from "../../platform/periodic/periodic-tasks.ts";
import type { SweepOutcome, TeamRemoval, TeamRemovals } from "./team-removal-sql.ts";

export interface TeamRemovalDeps {
  removals: TeamRemovals;
  /** Deletes one page of objects below a prefix; true when nothing is left. */
  deleteBelow(prefix: string): Promise<boolean>;
  log: Logger;
}

/**
 * Deletes the objects of deleted teams, below `teams/<team>/`: soon after the deletion, and once more a day later. The
 * second sweep deletes objects written in between, by a presigned upload or by a process that did not know of the deletion
 * yet. Deleting is idempotent, so a sweep that was interrupted, or made by two relays at once, does no harm.
 */
export function teamRemovalPeriodicTasks({ removals, deleteBelow, log }: TeamRemovalDeps): PeriodicTask[] {
  async function sweep({ teamId }: TeamRemoval, isStopping: () => boolean): Promise<SweepOutcome> {
    try {
      for (let page = 0; page < LIMITS.removals.pagesPerTurn && !isStopping(); page++)
        if (await deleteBelow(`teams/${teamId}/`)) return "clean";
      return "more";
    } catch (error) {
      log.warn({ err: error, team: teamId }, "cannot delete the objects of a deleted team");
      return "failed";
    }
  }

  async function removeDueTeams(isStopping: () => boolean): Promise<void> {
    for (let turn = 0; turn < LIMITS.removals.perRound && !isStopping(); turn++) {
      const removal = await removals.claimDue();
      if (removal === null) return;
      const outcome = await sweep(removal, isStopping);
      await removals.recordSweep(removal, outcome);
      // The next one would fail too.
      if (outcome === "failed") return;
    }
  }

  return [{ name: "remove teams", everyMs: LIMITS.removals.everyMs, run: removeDueTeams }];
}
