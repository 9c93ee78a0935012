import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { limitsOf } from "../../auth/lookup.ts";
import { findTeamTerms } from "../../identity/team-sql.ts";
import { type Analysis, endAnalysis, recordAnalysis, shareLockTeam } from "../jobs/job-sql.ts";
import { type ChunkRange, finishTask, insertChunks, type TaskPointer } from "../schedule/job-tasks.ts";
import { reserve, reserveInTime } from "../submit/reserve.ts";

/** An analysis that has come to its end. */
export interface AnalysisOutcome {
  task: TaskPointer & { teamId: string; livemode: boolean };
  found: Analysis;
  chunks: readonly ChunkRange[];
}

/**
 * Records the analysis of the job in one transaction: the task is done, the chunks are tasks, and the job holds their
 * maximum cost of the day's quota, under the team's present limit. Does nothing when another worker did it before, or the
 * job has ended.
 * @returns null; or the shortage of quota: then nothing has changed
 */
export async function settleAnalysis(
  deps: { sql: Database; clock: Clock },
  { task, found, chunks }: AnalysisOutcome,
  cancelled: AbortSignal,
): Promise<{ detail: string } | null> {
  const { sql, clock } = deps;
  const { jobId, teamId, livemode } = task;
  const units = found.rows - found.duplicates - found.malformed - found.empty;
  const settle = () =>
    sql.begin(async (tx) => {
      if (!(await shareLockTeam(tx, teamId))) return;
      const terms = await findTeamTerms(tx, teamId);
      if (terms === null || !(await finishTask(tx, task)) || !(await endAnalysis(tx, jobId))) return;
      await recordAnalysis(tx, jobId, found);
      await insertChunks(tx, jobId, chunks);
      // Last: from here on other requests for the team's quota wait for this transaction.
      if (livemode) await reserve(tx, { jobId, teamId, limit: limitsOf(terms).dailyQuota, units });
    });
  return reserveInTime(clock, units, settle, cancelled);
}
