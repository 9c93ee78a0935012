import { DAY_MS } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { jobPrefix, repeatsKey, shardsPrefix, sourceKey } from "../../store/job-objects.ts";
import {
  deleteJob,
  hideExpiredJobs,
  jobsWithSpentSource,
  noteSourceRemoved,
  removableJobs,
  staleSubmissions,
} from "../../store/jobs.ts";
import type { Database } from "../../store/postgres.ts";
import { giveUpSubmission } from "./submit-inline.ts";

/** Clears away what jobs leave behind. Any number of processes may do it at once. */
export interface BulkRemoval {
  /**
   * Gives up submissions that nobody finishes, hides what is past its retention, removes objects and rows of what is hidden,
   * and of completed and failed jobs all but the results: objects first, so that a failure leaves a row to try again by.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export function createBulkRemoval(deps: {
  sql: Database;
  /** Deletes some of what is below a prefix; true when nothing is left of it. */
  deleteBelow(prefix: string): Promise<boolean>;
  retentionDays: number;
}): BulkRemoval {
  const { sql } = deps;
  const { jobsPerRound, submissionMs, removalRestMs, spentRestMs, objectPages } = LIMITS.bulk;

  async function removeObjects(prefix: string): Promise<boolean> {
    for (let page = 0; page < objectPages; page++) if (await deps.deleteBelow(prefix)) return true;
    return false;
  }

  /** What results are made from, and are not any more. */
  async function removeSpent(teamId: string, id: string): Promise<boolean> {
    const spent = [sourceKey(teamId, id), repeatsKey(teamId, id), shardsPrefix(teamId, id)];
    for (const prefix of spent) if (!(await removeObjects(prefix))) return false;
    return true;
  }

  return {
    async sweep(isStopping) {
      for (const { id, teamId } of await staleSubmissions(sql, submissionMs, jobsPerRound))
        await giveUpSubmission(sql, teamId, id);
      await hideExpiredJobs(sql, deps.retentionDays * DAY_MS, jobsPerRound);
      for (const { id, teamId } of await removableJobs(sql, removalRestMs, jobsPerRound)) {
        if (isStopping()) return;
        if (await removeObjects(jobPrefix(teamId, id))) await deleteJob(sql, id);
      }
      for (const { id, teamId } of await jobsWithSpentSource(sql, spentRestMs, jobsPerRound)) {
        if (isStopping()) return;
        if (await removeSpent(teamId, id)) await noteSourceRemoved(sql, id);
      }
    },
  };
}
