import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { createSweep, runEach, type SweepItem } from "../../../platform/periodic/sweep.ts";
import { DAY_MS } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { jobPrefix, repeatsKey, resultsPrefix, shardsPrefix, sourceKey } from "../results/job-objects.ts";
import { giveUpSubmission } from "../submit/submit-inline.ts";
import { deleteJob } from "./job-clearing.ts";
import {
  hideExpiredJobs,
  noteSpentRemoved,
  removableJobs,
  type SpentJob,
  spentJobs,
  staleSubmissions,
} from "./job-sql.ts";

/** Removes the remains of jobs. Any number of processes may do it at once. */
export interface BulkRemoval {
  /**
   * Gives up submissions that were never finished, and hides jobs past their retention. Removes objects and rows of hidden
   * jobs. Of jobs that ended a while ago it removes objects that no reader needs any more: inputs of the results, except of
   * cancelled jobs, and unfinished results of killed processes. Objects are removed first, so that a row remains for
   * another attempt after a failure. A failure does not stop the rest.
   */
  sweep(isStopping: () => boolean): Promise<void>;
}

export function createBulkRemoval(deps: {
  sql: Database;
  /** See `ObjectStore.deleteBelow`. */
  deleteBelow(prefix: string, spared?: string): Promise<boolean>;
  log: Logger;
  retentionDays: number;
}): BulkRemoval {
  const { sql, log } = deps;
  const stale = createSweep<SweepItem>(log, "a submission could not be given up");
  const removable = createSweep<SweepItem>(log, "the objects of a job could not be removed");
  const spent = createSweep<SpentJob>(log, "what a job left behind could not be removed");
  const { jobsPerRound, submissionMs, removalRestMs, spentRestMs, objectPages } = LIMITS.bulk;

  async function removeObjects(prefix: string, spared?: string): Promise<boolean> {
    for (let page = 0; page < objectPages; page++) if (await deps.deleteBelow(prefix, spared)) return true;
    return false;
  }

  /**
   * Removes the inputs of results that will not be made again, and all results except the ones that count. The others are
   * of killed processes; unfinished ones consist of parts that are paid for until they are aborted.
   */
  async function removeSpent({ teamId, id, keepsSource, resultsKey }: SpentJob): Promise<boolean> {
    const sources = [sourceKey(teamId, id), repeatsKey(teamId, id), shardsPrefix(teamId, id)];
    for (const prefix of keepsSource ? [] : sources) if (!(await removeObjects(prefix))) return false;
    return removeObjects(resultsPrefix(teamId, id), resultsKey === null ? undefined : `${resultsKey}.`);
  }

  return {
    async sweep(isStopping) {
      await runEach([
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
            (limit) => spentJobs(sql, spentRestMs, limit),
            jobsPerRound,
            isStopping,
            async (job) => {
              if (await removeSpent(job)) await noteSpentRemoved(sql, job.id);
            },
          ),
      ]);
    },
  };
}
