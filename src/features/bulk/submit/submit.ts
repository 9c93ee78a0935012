import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { ObjectStreams } from "../../../stores/objects/object-streams.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { liveCredentialNeeded } from "../../auth/acting-member.ts";
import type { Actor } from "../../identity/actor.ts";
import { requireFeature } from "../../identity/tier-features.ts";
import { readWebhookUrl } from "../../webhooks/url.ts";
import { hasTeamWebhookSecret } from "../../webhooks/webhook-sql.ts";
import type { JobRow } from "../jobs/job-sql.ts";
import { type BulkJob, renderJob, type ViewSettings } from "../jobs/job-view.ts";
import type { JobObjects } from "../results/job-objects.ts";
import type { S3ObjectRef } from "./grant-check.ts";
import type { AnalyseInline } from "./source.ts";
import type { SubmissionTerms } from "./submission.ts";
import { createSubmitS3, createSubmitUpload, type UploadSources } from "./submit-file.ts";
import { createSubmitInline } from "./submit-inline.ts";
import { createCheckKeptJobs } from "./team-jobs.ts";

/** The list of a submission. */
export type BulkList =
  /** A list in the request. Malformed addresses are rows too. */
  | { type: "inline"; emails: readonly string[] }
  | { type: "upload"; uploadId: string }
  | ({ type: "s3" } & S3ObjectRef);

export interface BulkInput extends SubmissionTerms {
  list: BulkList;
}

/**
 * Creates a job from a list.
 * @throws AppError `unavailable_in_tier`, `inline_too_large`, `bulk_too_large`, `quota_exceeded`, `limit_reached`,
 *   `not_found` and `upload_missing` (of an upload), `s3_not_granted` and `source_missing` (of a bucket's object),
 *   `live_credential_needed` (a bucket's object by a test key), `validation_failed` (webhook_url), `feature_unconfigured`
 *   without object storage, `unavailable` when it fails; with a test key also the error that a test address requests
 */
export type SubmitBulk = (actor: Actor, input: BulkInput) => Promise<BulkJob>;

export interface SubmitDeps {
  sql: Database;
  /** null: none is configured. */
  storage: {
    objects: Pick<JobObjects, "put">;
    streams: Pick<ObjectStreams, "head">;
    uploads: UploadSources;
    bucket: string;
  } | null;
  analyseInline: AnalyseInline;
  clock: Clock;
  log: Logger;
  view: ViewSettings;
  webhooks: { privateAddresses: boolean };
  /** A job has been queued: it may be emitted. */
  onQueued(): void;
}

/** A submit function for each form of a list; null without object storage. */
function submittersOf({ sql, storage, analyseInline, clock, log }: SubmitDeps) {
  if (storage === null) return null;
  const { objects, streams, uploads, bucket } = storage;
  const files = { sql, objects: streams, uploads, ownBucket: bucket };
  return {
    inline: createSubmitInline({ sql, objects, analyse: analyseInline, clock, log }),
    upload: createSubmitUpload(files),
    s3: createSubmitS3(files),
  };
}

export function createSubmitBulk(deps: SubmitDeps): SubmitBulk {
  const { sql, clock } = deps;
  const ways = submittersOf(deps);
  const checkKeptJobs = createCheckKeptJobs({ sql, clock });

  async function checkWebhook(actor: Actor, text: string | null): Promise<string | null> {
    if (text === null) return null;
    const read = readWebhookUrl(text, deps.webhooks.privateAddresses);
    const invalid = (message: string) =>
      new AppError("validation_failed", `webhook_url (body) ${message}.`, {
        errors: [{ path: "webhook_url", message }],
      });
    if ("problem" in read) throw invalid(read.problem);
    if (!(await hasTeamWebhookSecret(sql, actor.teamId)))
      throw invalid(
        "needs a signing secret of the team, which it has not made yet: POST /v1/team/webhook-secret does",
      );
    return read.url;
  }

  function submit(actor: Actor, list: BulkList, terms: SubmissionTerms): Promise<JobRow> {
    if (ways === null)
      throw new AppError("feature_unconfigured", "Bulk needs object storage, which is not configured here.");
    if (list.type === "inline") return ways.inline(actor, list.emails, terms);
    if (list.type === "upload") return ways.upload(actor, list.uploadId, terms);
    // A list in a customer's bucket is live data, so a test key may not submit it.
    if (!actor.livemode) throw liveCredentialNeeded();
    return ways.s3(actor, { bucket: list.bucket, key: list.key }, terms);
  }

  return async (actor, { list, ...asked }) => {
    requireFeature(actor, "bulk");
    await checkKeptJobs(actor);
    const webhookUrl = await checkWebhook(actor, asked.webhookUrl);
    const row = await submit(actor, list, { ...asked, webhookUrl });
    deps.onQueued();
    return renderJob(row, deps.view, clock.now());
  };
}
