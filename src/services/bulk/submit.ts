import { type Clock, sleep } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { newId } from "../../core/ids.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import { type JobObjects, sourceKey } from "../../store/job-objects.ts";
import { insertChunks } from "../../store/job-tasks.ts";
import {
  abandonSubmission,
  countActiveJobsAlone,
  findJob,
  insertJob,
  type JobRow,
  keepTeam,
  type NewJob,
  queueJob,
  setJobDay,
} from "../../store/jobs.ts";
import type { Database } from "../../store/postgres.ts";
import { type HoldAnswer, holdQuota, settleHold } from "../../store/quota-holds.ts";
import { hasTeamWebhookSecret } from "../../store/webhooks.ts";
import type { Actor } from "../actor.ts";
import { refuseTestAddress } from "../verify/test-keys.ts";
import { readWebhookUrl } from "../webhooks/url.ts";
import { type AnalysedSource, analyseInline, inlineBytes } from "./source.ts";
import { type BulkJob, renderJob, type ViewSettings } from "./view.ts";

export interface BulkInput {
  /** As they were given: badly formed ones are rows too. */
  emails: readonly string[];
  withEvidence: boolean;
  metadata: Record<string, string>;
  /** Told of the job's end beside the team's webhooks; null: nobody else. */
  webhookUrl: string | null;
}

/**
 * Takes a list and makes a job of it.
 *
 * First the job is written, hidden, with what it holds of the quota; then its source goes to object storage; then it is
 * queued. So a refusal costs nothing, and what a process leaves behind that dies on the way is found by the relay.
 *
 * @throws AppError `unavailable_in_tier`, `inline_too_large`, `bulk_too_large`, `quota_exceeded`, `limit_reached`,
 *   `validation_failed` (webhook_url), `feature_unconfigured` without object storage, `unavailable` when it fails; with a
 *   test key also what a test address asks for
 */
export type SubmitBulk = (actor: Actor, input: BulkInput) => Promise<BulkJob>;

export interface SubmitDeps {
  sql: Database;
  /** null: none is configured. */
  objects: JobObjects | null;
  clock: Clock;
  log: Logger;
  view: ViewSettings;
  webhooks: { privateAddresses: boolean };
  /** A job has been queued: it may be emitted. */
  onQueued(): void;
}

function unavailable(cause: unknown): AppError {
  return new AppError("unavailable", "The list cannot be stored now.", { retryAfterS: 1, cause });
}

/** What can be said of the list at a glance. */
function checkSize({ limits, tier }: Actor, { emails }: BulkInput): void {
  const { inlineRows } = LIMITS.bulk;
  if (limits.bulkBytes === 0)
    throw new AppError("unavailable_in_tier", `Bulk needs the tier starter or above, the team has ${tier}.`);
  if (emails.length > inlineRows)
    throw new AppError("inline_too_large", `A request may hold ${inlineRows} addresses.`);
  if (emails.length > limits.dailyQuota)
    throw new AppError("bulk_too_large", `A job of the team may have ${limits.dailyQuota} rows.`);
  if (inlineBytes(emails) > limits.bulkBytes)
    throw new AppError("bulk_too_large", `A list of the team may have ${limits.bulkBytes} bytes.`);
}

/** Thrown inside the transaction, so that nothing of the job remains. */
class QuotaShort extends Error {
  readonly answer: HoldAnswer;
  constructor(answer: HoldAnswer) {
    super("not enough quota is left");
    this.answer = answer;
  }
}

/**
 * Gives back what a submission held that came to nothing; its objects go later.
 * @returns the job where it came to something: it is queued, or further
 */
export async function giveUpSubmission(sql: Database, teamId: string, jobId: string): Promise<JobRow | null> {
  return sql.begin(async (tx) => {
    if (!(await keepTeam(tx, teamId))) return null;
    if (!(await abandonSubmission(tx, jobId))) return findJob(tx, teamId, jobId);
    await settleHold(tx, jobId, 0);
    return null;
  });
}

export function createSubmitBulk(deps: SubmitDeps): SubmitBulk {
  const { sql, clock, log } = deps;

  async function checkWebhook(actor: Actor, text: string | null): Promise<string | null> {
    if (text === null) return null;
    const read = readWebhookUrl(text, deps.webhooks.privateAddresses);
    const invalid = (message: string) =>
      new AppError("validation_failed", `webhook_url (body) ${message}.`, {
        errors: [{ path: "webhook_url", message }],
      });
    if ("problem" in read) throw invalid(read.problem);
    if (!(await hasTeamWebhookSecret(sql, actor.teamId)))
      throw invalid("needs a signing secret of the team, which it has not made yet");
    return read.url;
  }

  /** The job, hidden, and what it holds, or neither. @throws QuotaShort */
  function reserve(actor: Actor, job: NewJob, units: number): Promise<void> {
    return sql.begin(async (tx) => {
      const active = await countActiveJobsAlone(tx, actor.teamId);
      if (active === null) throw new AppError("unauthorized", "The team has been deleted.");
      if (active >= LIMITS.bulk.activeJobs)
        throw new AppError("limit_reached", `A team may have ${LIMITS.bulk.activeJobs} jobs under way.`);
      await insertJob(tx, job);
      if (!actor.livemode) return;
      const limit = actor.limits.dailyQuota;
      const answer = await holdQuota(tx, { jobId: job.id, teamId: actor.teamId, limit, units });
      if (!answer.held) throw new QuotaShort(answer);
      if (answer.day !== null) await setJobDay(tx, job.id, answer.day);
    });
  }

  /** Waits a little for units that lie idle in some process, and come back by themselves. */
  async function reserveInTime(actor: Actor, job: NewJob, units: number): Promise<void> {
    const untilMs = clock.monotonic() + LIMITS.bulk.quotaWaitMs;
    for (;;) {
      try {
        return await reserve(actor, job, units);
      } catch (error) {
        if (!(error instanceof QuotaShort)) throw error;
        const { available, unspent, msToMidnight } = error.answer;
        if (available + unspent < units || clock.monotonic() >= untilMs)
          throw new AppError(
            "quota_exceeded",
            `The job needs ${units} units; ${available} are left of the day's ${actor.limits.dailyQuota}.`,
            { retryAfterS: Math.max(1, Math.ceil(msToMidnight / 1000)) },
          );
      }
      await sleep(clock, LIMITS.bulk.quotaRetryMs);
    }
  }

  /** The job as it was queued. */
  async function store(objects: JobObjects, job: NewJob, source: AnalysedSource): Promise<JobRow> {
    try {
      await objects.put(sourceKey(job.teamId, job.id), source.content, "application/x-ndjson");
      const queued = await sql.begin(async (tx) => {
        if (!(await queueJob(tx, job.id))) return null;
        await insertChunks(tx, job.id, source.chunks);
        return findJob(tx, job.teamId, job.id);
      });
      if (queued === null) throw new Error("the submission was given up");
      return queued;
    } catch (error) {
      // Where this fails too, the relay does it when the submission is old. When only the answer to the commit was lost, the
      // job is there, and is charged: who heard of a failure would send the list again.
      const queued = await giveUpSubmission(sql, job.teamId, job.id).catch(() => null);
      if (queued !== null) return queued;
      log.warn({ err: error, job: job.id }, "a job could not be submitted");
      throw unavailable(error);
    }
  }

  return async (actor, input) => {
    checkSize(actor, input);
    const { objects } = deps;
    if (objects === null)
      throw new AppError("feature_unconfigured", "Bulk needs object storage, which is not configured here.");
    if (!actor.livemode) for (const email of input.emails) refuseTestAddress(email, clock);
    const webhookUrl = await checkWebhook(actor, input.webhookUrl);
    const source = await analyseInline(input.emails);
    const job: NewJob = {
      id: newId("job"),
      teamId: actor.teamId,
      livemode: actor.livemode,
      source: { type: "inline" },
      probing: actor.limits.probing,
      withEvidence: input.withEvidence,
      metadata: input.metadata,
      webhookUrl,
      rows: source.rows,
      duplicates: source.duplicates,
      malformed: source.malformed,
    };
    await reserveInTime(actor, job, source.billable);
    const row = await store(objects, job, source);
    deps.onQueued();
    return renderJob(row, deps.view, clock.now());
  };
}
