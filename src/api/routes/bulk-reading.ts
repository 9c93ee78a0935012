import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { BulkJobs, JobResults } from "../../features/bulk/jobs/jobs.ts";
import { CONTENT_TYPES, type Format } from "../../features/bulk/results/result-rows.ts";
import { attachment } from "../reply/content-disposition.ts";
import { HttpReply } from "../reply/reply.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { completedJob, JobParamsSchema, queuedJob } from "../schemas/bulk.ts";
import {
  DeferredRowsSchema,
  deferredRowsExample,
  JobProvidersSchema,
  jobProvidersExample,
  ResultsQuerySchema,
} from "../schemas/bulk-reading.ts";
import { verificationExample } from "./verify.ts";

const { downloads, teamDownloads, joinedDownloads, teamJoinedDownloads, teamFollowers, heartbeatMs } =
  LIMITS.results;

/** Routes that read a job's results, its waiting rows, its providers and its events. */
export function createBulkReadingRoutes(jobs: BulkJobs): Route[] {
  return [resultsRoute(jobs), deferredRoute(jobs), providersRoute(jobs), eventsRoute(jobs)];
}

const csvExample =
  "email,rcpt_verdict,rcpt_reason,rcpt_risk_score,rcpt_email,rcpt_did_you_mean,rcpt_catch_all,rcpt_role," +
  "rcpt_disposable,rcpt_mx_provider\r\n" +
  "someone@example.com,valid,accepted_mailbox,3,someone@example.com,,refused,,false,\r\n";

const lineExample = { row: 1, input: "someone@example.com", duplicate_of: null, ...verificationExample };

const RESULTS_DESCRIPTION =
  "In input order, streamed; while the job is under way, what is answered so far; of a cancelled one, what was " +
  "answered. A failed job has none, and of a file there is nothing until its columns are known, when it is " +
  "`processing`: 409 `no_results`. CSV (RFC 4180) has the columns of the list as they are, with its delimiter, then `rcpt_verdict`, " +
  "`rcpt_reason`, `rcpt_risk_score`, `rcpt_email`, `rcpt_did_you_mean`, `rcpt_catch_all`, `rcpt_role`, " +
  "`rcpt_disposable`, `rcpt_mx_provider`, and of a job with `evidence` `rcpt_smtp_stage`, `rcpt_smtp_code`, " +
  "`rcpt_smtp_enhanced_code`, `rcpt_smtp_reply`, `rcpt_smtp_rule`, `rcpt_mx_host`. It always begins with a header: columns of a list without one are " +
  "called `column_1` and so on, the one of addresses in a request `email`. It begins with a byte order mark where the list did, " +
  "was a workbook, or is in UTF-8 and has `escape_formulas`. JSONL " +
  "(`format=jsonl`, `application/x-ndjson`) has a line for each row: the result of a single verification with `row` " +
  "(from 1), `input`, `duplicate_of`, the row whose result this one copies, and, of files, `columns`. Of a " +
  "job with `split_cells` a row whose cell has several addresses has their values in our columns of CSV with `;` between them, and in " +
  "JSONL instead of a result `parts`: for each address `input`, `duplicate_of` and its result. `verdict`, `reason` and `provider` " +
  "choose rows: all that are given must be so, of parts those of one and the same address, and other parts are left out. Of a completed " +
  "job a download of all rows that broke off can be taken up again with `Range` (one range of bytes) and `If-Range`. Of a job " +
  "whose list lies in your bucket, results before its completion need the list: 409 `source_missing` without " +
  "it, 403 `s3_not_granted` when it may not be read any more. " +
  "A body that breaks off ends its connection without its last chunk. " +
  `A process serves ${downloads} downloads at once (503), ${teamDownloads} of them a team's (429); of jobs that are ` +
  `not completed ${joinedDownloads}, ${teamJoinedDownloads} of them a team's. Jobs of test keys are counted apart.`;

/** Common fields of the successes for all rows and for a range. */
const RESULTS_SUCCESS = {
  contentType: CONTENT_TYPES.csv,
  schema: v.string(),
  example: csvExample,
  alsoAs: { [CONTENT_TYPES.jsonl]: `${JSON.stringify(lineExample)}\n` },
};
const RESULTS_HEADERS = {
  "Content-Disposition":
    "File names for the rows: `filename` of the job's id, `filename*` (RFC 6266) of its list, each with what the rows were chosen by.",
  "Accept-Ranges": "`bytes`, where there is an `ETag`: a range of it can be asked for.",
  ETag: "Of all rows of a completed job.",
};

function reply({ body, fileNames }: JobResults, format: Format): HttpReply {
  const { range, etag } = body;
  const disposition = attachment(fileNames.plain, fileNames.ofList);
  const headers: Record<string, string> = { "Content-Disposition": disposition };
  if (etag !== null) Object.assign(headers, { ETag: etag, "Accept-Ranges": "bytes" });
  if (range !== null) {
    const last = range.firstByte + range.bytes - 1;
    headers["Content-Range"] = `bytes ${range.firstByte}-${last}/${range.total}`;
  }
  const contentType = CONTENT_TYPES[format];
  return new HttpReply(range === null ? 200 : 206, body, { contentType, headers, released: body.release });
}

function resultsRoute(jobs: BulkJobs): Route {
  return teamRoute({
    tag: "bulk",
    role: "member",
    rate: "read",
    waitsElsewhere: true,
    method: "GET",
    path: "/v1/bulk-jobs/{id}/results",
    operationId: "getBulkResults",
    summary: "Read a job's results",
    description: RESULTS_DESCRIPTION,
    errors: [
      "not_found",
      "no_results",
      "s3_not_granted",
      "source_missing",
      "range_not_satisfiable",
      "feature_unconfigured",
    ],
    readsHeaders: ["range", "if-range"],
    params: JobParamsSchema,
    query: ResultsQuerySchema,
    success: { ...RESULTS_SUCCESS, status: 200, description: "The rows", headers: RESULTS_HEADERS },
    alternatives: [
      {
        ...RESULTS_SUCCESS,
        status: 206,
        description: "The bytes that `Range` asked for",
        headers: { ...RESULTS_HEADERS, "Content-Range": "Which bytes of how many." },
      },
    ],
    async handler({ params, query }, actor, context) {
      const { headers } = context;
      const gone = new AbortController();
      context.onCancel(() => gone.abort(new Error("the client has gone")));
      const { format, verdict = null, reason = null, provider = null, limit = null } = query;
      const wanted = { format, verdict, reason, provider, limit };
      const ask = { ...wanted, range: headers.range ?? "", ifRange: headers["if-range"] ?? "" };
      return reply(await jobs.results(actor, params.id, ask, gone.signal), format);
    },
  });
}

function deferredRoute(jobs: BulkJobs): Route {
  return teamRoute({
    tag: "bulk",
    role: "member",
    rate: "read",
    method: "GET",
    path: "/v1/bulk-jobs/{id}/deferred",
    operationId: "getDeferredRows",
    summary: "Show why rows of a job wait",
    description:
      "The job's rows that are asked again later (`rows.deferred`), by reason and by site. None of a job that has ended.",
    errors: ["not_found"],
    params: JobParamsSchema,
    success: {
      status: 200,
      description: "The rows that wait",
      schema: DeferredRowsSchema,
      example: deferredRowsExample,
    },
    handler: ({ params }, actor) => jobs.deferred(actor, params.id),
  });
}

function providersRoute(jobs: BulkJobs): Route {
  return teamRoute({
    tag: "bulk",
    role: "member",
    rate: "read",
    method: "GET",
    path: "/v1/bulk-jobs/{id}/providers",
    operationId: "getJobProviders",
    summary: "Count a job's rows by provider",
    description:
      "The answered rows by the operator of their mail exchangers and by verdict: so far, or of a job that has ended, in all. Rows " +
      "that a version without this count answered are not in it.",
    errors: ["not_found"],
    params: JobParamsSchema,
    success: {
      status: 200,
      description: "Its providers",
      schema: JobProvidersSchema,
      example: jobProvidersExample,
    },
    handler: ({ params }, actor) => jobs.providers(actor, params.id),
  });
}

const eventsExample =
  `retry: ${LIMITS.results.reconnectMs}\n` +
  `event: job\nid: 0\ndata: ${JSON.stringify(queuedJob)}\n\n` +
  `event: end\nid: end\ndata: ${JSON.stringify(completedJob)}\n\n`;

function eventsRoute(jobs: BulkJobs): Route {
  return teamRoute({
    tag: "bulk",
    role: "member",
    rate: "read",
    method: "GET",
    path: "/v1/bulk-jobs/{id}/events",
    operationId: "followBulkJob",
    summary: "Follow a job",
    description:
      "Server-sent events (`text/event-stream`). First `job`: the job as it stands; then `progress` with the job, once a " +
      "second at most, whenever it has changed; at last `end` with the job, when it has ended, after which the answer " +
      `ends. A comment comes every ${heartbeatMs / 1_000} s when nothing happens. The answer also ends when the job is ` +
      "removed, the credential revoked, or the process shut down; a client that comes back with the `Last-Event-ID` it " +
      `was told goes on from there, and gets 204 when it has heard of the end. A team may follow ${teamFollowers} times at once in a process (429).`,
    errors: ["not_found"],
    readsHeaders: ["last-event-id"],
    params: JobParamsSchema,
    success: {
      status: 200,
      description: "The events",
      contentType: "text/event-stream",
      schema: v.string(),
      example: eventsExample,
    },
    alternatives: [
      { status: 204, description: "The job has ended, and `Last-Event-ID` says that you know", schema: null },
    ],
    async handler({ params }, actor, { headers }) {
      const events = await jobs.events(actor, params.id, headers["last-event-id"] ?? "");
      if (events === null) return new HttpReply(204, null);
      const { open, release } = events;
      const body = { bytes: null, endless: true, open };
      return new HttpReply(200, body, { contentType: "text/event-stream", released: release });
    },
  });
}
