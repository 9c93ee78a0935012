import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/ids.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { readAddresses } from "../../../verification/address/addresses-in.ts";
import { type Actor, shareKey } from "../../identity/actor.ts";
import { settleHold } from "../../quota/quota-holds.ts";
import { refuseTestAddress } from "../../verify/answer/test-keys.ts";
import {
  abandonSubmission,
  findJob,
  insertJob,
  type JobRow,
  type NewJob,
  queueJob,
  recordAnalysis,
  shareLockTeam,
} from "../jobs/job-sql.ts";
import { type JobObjects, repeatsKey, sourceKey } from "../results/job-objects.ts";
import { insertChunks } from "../schedule/job-tasks.ts";
import { reserve, reserveInTime } from "./reserve.ts";
import { type AnalysedSource, type AnalyseInline, INLINE_COLUMNS, inlineBytes } from "./source.ts";
import { checkBytes, checkTeamJobs, checkTeamJobsEarly, newJob, type Submit } from "./submission.ts";

export function inlineTooLarge(): AppError {
  return new AppError("inline_too_large", `A request may hold ${LIMITS.bulk.inlineRows} addresses.`);
}

/** Checks the size of the list against limits that need no reading. */
function checkSize(actor: Actor, { rows, bytes }: Pick<AnalysedSource, "rows" | "bytes">): void {
  const { inlineRows } = LIMITS.bulk;
  const { dailyQuota } = actor.limits;
  if (rows > inlineRows) throw inlineTooLarge();
  if (rows > dailyQuota)
    throw new AppError("bulk_too_large", `A job of the team may have ${dailyQuota} rows.`);
  checkBytes(bytes, actor);
}

/**
 * Gives back the quota of a failed submission; its objects are removed later.
 * @returns the job if the submission succeeded after all: it is queued, or further
 */
export async function giveUpSubmission(sql: Database, teamId: string, jobId: string): Promise<JobRow | null> {
  return sql.begin(async (tx) => {
    if (!(await shareLockTeam(tx, teamId))) return null;
    if (!(await abandonSubmission(tx, jobId))) return findJob(tx, teamId, jobId);
    await settleHold(tx, jobId, 0);
    return null;
  });
}

export interface SubmitInlineDeps {
  sql: Database;
  objects: Pick<JobObjects, "put">;
  analyse: AnalyseInline;
  clock: Clock;
  log: Logger;
}

/**
 * Creates a job from a list in the request's body, and analyses it at once. First the job is written, hidden, with its hold
 * of the quota; then its source goes to object storage; then it is queued. So a refusal costs nothing, and the relay finds
 * the remains of a killed process.
 * @throws AppError `inline_too_large`, `bulk_too_large`, `quota_exceeded`, `limit_reached`, `unavailable` when it fails;
 *   with a test key also the error that a test address requests
 */
export function createSubmitInline(deps: SubmitInlineDeps): Submit<readonly string[]> {
  const { sql, objects, analyse, clock, log } = deps;

  /** Writes the hidden job and its hold of the quota, or neither. */
  async function reserveJob(actor: Actor, job: NewJob, units: number): Promise<void> {
    const limit = actor.limits.dailyQuota;
    const shortage = await reserveInTime(clock, units, () =>
      sql.begin(async (tx) => {
        await checkTeamJobs(tx, actor);
        await insertJob(tx, job, "submitting");
        if (actor.livemode) await reserve(tx, { jobId: job.id, teamId: actor.teamId, limit, units });
      }, actor.teamId),
    );
    if (shortage !== null)
      throw new AppError("quota_exceeded", shortage.detail, { retryAfterS: shortage.retryAfterS });
  }

  /** The job as it was queued. */
  async function store(job: NewJob, source: AnalysedSource): Promise<JobRow> {
    try {
      const { id, teamId, place } = job;
      await objects.put(place.key, source.content, "text/csv");
      if (source.repeats.length > 0)
        await objects.put(repeatsKey(teamId, id), source.repeats, "application/octet-stream");
      const queued = await sql.begin(async (tx) => {
        if (!(await queueJob(tx, job.id))) return null;
        const findings = { columns: INLINE_COLUMNS, warnings: [] };
        await recordAnalysis(tx, job.id, { ...source, place, findings });
        await insertChunks(tx, job.id, source.chunks);
        return findJob(tx, job.teamId, job.id);
      });
      if (queued === null) throw new Error("the submission was given up");
      return queued;
    } catch (error) {
      // If this fails too, the relay gives up the submission later. If only the response to the commit was lost, the job
      // exists and is charged: a client that received an error would send the list again.
      const queued = await giveUpSubmission(sql, job.teamId, job.id).catch(() => null);
      if (queued !== null) return queued;
      log.warn({ err: error, job: job.id }, "a job could not be submitted");
      throw new AppError("unavailable", "The list cannot be stored now.", { retryAfterS: 1, cause: error });
    }
  }

  return async (actor, emails, terms) => {
    checkSize(actor, { rows: emails.length, bytes: inlineBytes(emails) });
    await checkTeamJobsEarly(sql, actor);
    const splitCells = terms.options.splitCells === true;
    const analysed = await analyse(emails, { splitCells, isTest: !actor.livemode }, shareKey(actor));
    // There are more rows where cells were split.
    checkSize(actor, analysed);
    if (analysed.testError !== null) refuseTestAddress(readAddresses(analysed.testError), clock);
    const id = newId("job");
    const place = { bucket: null, key: sourceKey(actor.teamId, id), etag: null };
    const from = {
      source: { type: "inline" },
      uploadId: null,
      place,
      bytes: analysed.content.length,
    } as const;
    const job = newJob(actor, terms, from, id);
    await reserveJob(actor, job, analysed.billable);
    const layout = { ...analysed.layout, bom: terms.options.escapeFormulas };
    return store(job, { ...analysed, layout });
  };
}
