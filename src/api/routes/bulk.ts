import type * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { BulkJobs } from "../../features/bulk/jobs/jobs.ts";
import type { BulkList } from "../../features/bulk/submit/submit.ts";
import { inlineTooLarge } from "../../features/bulk/submit/submit-inline.ts";
import { jobSpanRef } from "../../platform/telemetry/trace-context.ts";
import type { ParseLargeBody } from "../body/large-bodies.ts";
import { HttpReply } from "../reply/reply.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import {
  BulkJobSchema,
  completedJob,
  failedJob,
  JobParamsSchema,
  queuedJob,
  SubmitBulkSchema,
} from "../schemas/bulk.ts";
import { readSourceOptions } from "../schemas/file-options.ts";
import { createBulkReadingRoutes } from "./bulk-reading.ts";

/** Common fields of most routes. */
const MEMBERS = { tag: "bulk", role: "member" } as const;

export function createBulkRoutes(jobs: BulkJobs, parseLarge: ParseLargeBody): Route[] {
  return [
    submitRoute(jobs, parseLarge),
    listRoute(jobs),
    getRoute(jobs),
    cancelRoute(jobs),
    removeRoute(jobs),
    ...createBulkReadingRoutes(jobs),
  ];
}

/** Exactly one of the three is there. */
function listOf({ emails, upload_id, s3 }: v.InferOutput<typeof SubmitBulkSchema>): BulkList {
  if (s3 !== undefined) return { type: "s3", ...s3 };
  if (upload_id !== undefined) return { type: "upload", uploadId: upload_id };
  return { type: "inline", emails: emails ?? [] };
}

function submitRoute(jobs: BulkJobs, parseLarge: ParseLargeBody): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "verify",
    method: "POST",
    path: "/v1/verify/bulk",
    operationId: "submitBulk",
    summary: "Verify a list as a job",
    description:
      "Takes the list and answers at once; the job is verified in the background. The list is exactly one of `emails`, " +
      "`upload_id` and `s3`. A file is CSV, with a header or without, one column or many; gzip, UTF-16, byte order marks, " +
      "the usual delimiters and quoted line breaks are understood, and what is not said of it is found out. Each " +
      "well-formed address costs one unit of the daily quota of the day: reserved when the list is known (of a file, when " +
      "it has been read), given back at the end where the answer is free of charge. A job may have as many rows as the " +
      "team's daily quota, a file as many bytes as its tier allows, and a team " +
      `${LIMITS.bulk.activeJobs} jobs under way, as many with test keys, and ${LIMITS.bulk.keptJobs.all} in all, ${LIMITS.bulk.keptJobs.test} of them of test keys (409). A file that turns out to be unreadable, to have no column of addresses or ` +
      "more rows than there is quota is a failed job whose `error` says so; it costs nothing. A test key reads no bucket (403); " +
      "of a test key, the addresses " +
      "that ask for an error (`quota-exceeded@…`) get it for the whole list.",
    idempotent: true,
    feature: "bulk",
    bodyBytes: LIMITS.bulk.bodyBytes,
    bodyBounds: { values: LIMITS.bulk.bodyValues, tooManyValues: inlineTooLarge },
    parseLarge: (bytes, owner) => parseLarge("submitBulk", bytes, owner),
    errors: [
      "s3_not_granted",
      "live_credential_needed",
      "not_found",
      "limit_reached",
      "upload_missing",
      "source_missing",
      "inline_too_large",
      "bulk_too_large",
      "quota_exceeded",
      "rate_limited",
      "feature_unconfigured",
    ],
    body: SubmitBulkSchema,
    bodyExample: {
      emails: ["someone@example.com", "info@example.com", "someone@EXAMPLE.com", "no address"],
      metadata: { campaign: "spring" },
    },
    success: {
      status: 202,
      description: "The job",
      schema: BulkJobSchema,
      headers: { Location: "The job's path." },
      example: queuedJob,
    },
    async handler({ body }, actor, { span }) {
      const job = await jobs.submit(actor, {
        list: listOf(body),
        options: {
          ...readSourceOptions(body),
          escapeFormulas: body.escape_formulas,
          splitCells: body.split_cells,
        },
        withEvidence: body.evidence,
        metadata: body.metadata,
        webhookUrl: body.webhook_url,
      });
      // If the job is traced too, the request's span links to it.
      span?.link(jobSpanRef(job.id));
      span?.set({ "rcpt.job": job.id });
      const headers = { Location: `/v1/bulk-jobs/${job.id}` };
      return new HttpReply(202, JSON.stringify(job), { headers });
    },
  });
}

function listRoute(jobs: BulkJobs): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "read",
    method: "GET",
    path: "/v1/bulk-jobs",
    operationId: "listBulkJobs",
    summary: "List the team's jobs",
    description: "Newest first, those of test keys included; a test key is shown those only.",
    errors: [],
    query: PageQuerySchema,
    success: pageSuccess("A page of the jobs", BulkJobSchema, [failedJob, completedJob]),
    handler: ({ query }, actor) => jobs.list(actor, readPageRequest(query)),
  });
}

function getRoute(jobs: BulkJobs): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "read",
    method: "GET",
    path: "/v1/bulk-jobs/{id}",
    operationId: "getBulkJob",
    summary: "Look at a job",
    errors: ["not_found"],
    params: JobParamsSchema,
    success: { status: 200, description: "The job", schema: BulkJobSchema, example: completedJob },
    handler: ({ params }, actor) => jobs.get(actor, params.id),
  });
}

function cancelRoute(jobs: BulkJobs): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "POST",
    path: "/v1/bulk-jobs/{id}/cancel",
    operationId: "cancelBulkJob",
    summary: "Cancel a job",
    needsUser: true,
    description:
      "At once. Rows that are answered are charged and stay readable; the rest of the reservation returns.",
    errors: ["not_found", "job_finished"],
    params: JobParamsSchema,
    success: {
      status: 200,
      description: "The job as it ended",
      schema: BulkJobSchema,
      example: { ...queuedJob, status: "cancelled", completed_at: "2026-01-01T00:00:01.000Z" },
    },
    handler: ({ params }, actor) => jobs.cancel(actor, params.id),
  });
}

function removeRoute(jobs: BulkJobs): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "DELETE",
    path: "/v1/bulk-jobs/{id}",
    operationId: "deleteBulkJob",
    summary: "Remove a job and its results",
    needsUser: true,
    description:
      "One that is under way is cancelled first. Ended jobs go by themselves when their retention is over.",
    errors: ["not_found"],
    params: JobParamsSchema,
    success: { status: 204, description: "Removed", schema: null },
    async handler({ params }, actor) {
      await jobs.remove(actor, params.id);
      return null;
    },
  });
}
