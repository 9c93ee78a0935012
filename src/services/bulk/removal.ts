import { DAY_MS } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import { deleteJob } from "../../store/job-clearing.ts";
import { jobPrefix, repeatsKey, shardsPrefix, sourceKey } from "../../store/job-objects.ts";
import {
  hideExpiredJobs,
  jobsWithSpentSource,
  noteSourceRemoved,
  removableJobs,
  staleSubmissions,
} from "../../store/jobs.ts";
import type { Database } from "../../store/postgres.ts";
import { createRounds, doEach, type Item } from "../rounds.ts";
import { giveUpSubmission } from "./submit-inline.ts";

/** Clears away what jobs leave behind. Any number of processes may do it at once. */
export interface BulkRemoval {
  /**
   * Gives up submissions that nobody finishes, hides what is past its retention, removes objects and rows of what is hidden,
   * and of completed and failed jobs all but the results: objects first, so that a failure leaves a row to try again by, and keeps nothing else from being done.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export function createBulkRemoval(deps: {
  sql: Database;
  /** Deletes some of what is below a prefix; true when nothing is left of it. */
  deleteBelow(prefix: string): Promise<boolean>;
  log: Logger;
  retentionDays: number;
}): BulkRemoval {
  const { sql, log } = deps;
  const stale = createRounds<Item>(log, "a submission could not be given up");
  const removable = createRounds<Item>(log, "the objects of a job could not be removed");
  const spent = createRounds<Item>(log, "what results were made from could not be removed");
  const { jobsPerRound, submissionMs, removalRestMs, spentRestMs, objectPages } = LIMITS.bulk;

  async function removeObjects(prefix: string): Promise<boolean> {
    for (let page = 0; page < objectPages; page++) if (await deps.deleteBelow(prefix)) return true;
    return false;
  }

  /** What results are made from, and are not any more. */
  async function removeSpent(teamId: string, id: string): Promise<boolean> {
    const prefixes = [sourceKey(teamId, id), repeatsKey(teamId, id), shardsPrefix(teamId, id)];
    for (const prefix of prefixes) if (!(await removeObjects(prefix))) return false;
    return true;
  }

  return {
    async sweep(isStopping) {
      await doEach([
        () =>
          stale.run(
            (limit) => staleSubmissions(sql, submissionMs, limit),
            jobsPerRound,
            isStopping,
            async ({ id, teamId }) => {
              await giveUpSubmission(sql, teamId, id);
            },
          ),
        () => hideExpiredJobs(sql, deps.retentionDays * DAY_MS, jobsPerRound),
        () =>
          removable.run(
            (limit) => removableJobs(sql, removalRestMs, limit),
            jobsPerRound,
            isStopping,
            async ({ id, teamId }) => {
              if (await removeObjects(jobPrefix(teamId, id))) await deleteJob(sql, id);
            },
          ),
        () =>
          spent.run(
            (limit) => jobsWithSpentSource(sql, spentRestMs, limit),
            jobsPerRound,
            isStopping,
            async ({ id, teamId }) => {
              if (await removeSpent(teamId, id)) await noteSourceRemoved(sql, id);
            },
          ),
      ]);
    },
  };
}
