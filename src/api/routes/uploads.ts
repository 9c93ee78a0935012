import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Uploads } from "../../features/uploads/uploads.ts";
import { LIST_ERROR_CODES } from "../../platform/job-errors.ts";
import { fileBodyOf } from "../body/file-body.ts";
import { PageQueryEntries, pageSuccess, readPageRequest } from "../request/paging.ts";
import { incomingRoute, type Route, teamRoute } from "../routing/route.ts";
import { booleanParameter } from "../schemas/fields.ts";
import { FileOptionsSchema, readSourceOptions } from "../schemas/file-options.ts";
import {
  CreatedUploadSchema,
  CreateUploadSchema,
  createdUploadExample,
  FileParamsSchema,
  OpenPartsSchema,
  openPartsExample,
  previewExample,
  UploadParamsSchema,
  UploadPreviewSchema,
  UploadSchema,
  uploadExample,
} from "../schemas/upload.ts";

const MEMBERS = { tag: "bulk", role: "member" } as const;
const {
  lists,
  open,
  stored,
  streamedPerTeam,
  unfinishedMs,
  openMs,
  previewRows,
  previewFileBytes,
  partListsPerShare,
} = LIMITS.uploads;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function createUploadRoutes(uploads: Uploads): Route[] {
  return [
    createRoute(uploads),
    listRoute(uploads),
    receiveRoute(uploads),
    getRoute(uploads),
    partsRoute(uploads),
    completeRoute(uploads),
    previewRoute(uploads),
    removeRoute(uploads),
  ];
}

function createRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "POST",
    path: "/v1/uploads",
    operationId: "createUpload",
    summary: "Upload a file by a presigned URL",
    description:
      "Answers with a URL of object storage that takes the file, by `PUT` and without a credential, for " +
      "an hour (`expires_at`): a request that began in time may take longer. A file over 5 GiB, and any file with `part_bytes`, " +
      "is sent in parts, each to a URL of its own that is valid as long, and completed then; `GET /v1/uploads/{upload}/parts` tells " +
      "which parts are missing and has new URLs for them, so that an upload which was interrupted goes on where it was. A job names the upload by `upload_id`. Without `bytes` the URL takes more than a list of the team " +
      `may have; what does so is given up. A team may have ${open} uploads whose bytes have not come, ${stored} whose bytes ` +
      `are there, and in all as many bytes as ${lists} of its largest lists (409); what is not sent is removed ${unfinishedMs / HOUR_MS} hours after it ` +
      "expired, what is sent after as many days as results are kept, unless a job has yet to read it. What test keys upload is " +
      "counted apart.",
    idempotent: true,
    feature: "bulk",
    // The response contains URLs that expire.
    validUntilField: "expires_at",
    errors: ["bulk_too_large", "limit_reached", "feature_unconfigured"],
    body: CreateUploadSchema,
    bodyExample: { filename: "list.csv", bytes: 1_048_576 },
    success: {
      status: 201,
      description: "The upload, and where its bytes go",
      schema: CreatedUploadSchema,
      example: createdUploadExample,
    },
    handler: ({ body }, actor) => uploads.create(actor, body),
  });
}

function listRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "read",
    method: "GET",
    path: "/v1/uploads",
    operationId: "listUploads",
    summary: "List the team's uploads",
    description:
      "Newest first, each as it was last seen: of an `open` one the bytes may have come, by its URL; to look at it, or a " +
      "job of it, tells.",
    errors: ["feature_unconfigured"],
    query: v.strictObject({
      ...PageQueryEntries,
      unused: v.optional(
        booleanParameter(
          "`true`: only those whose bytes are there and of which there is no job, so that nothing but its age removes them.",
        ),
      ),
    }),
    success: pageSuccess("A page of the uploads", UploadSchema, [uploadExample]),
    handler: ({ query }, actor) =>
      uploads.list(actor, { ...readPageRequest(query), unusedOnly: query.unused === true }),
  });
}

function receiveRoute(uploads: Uploads): Route {
  return incomingRoute({
    ...MEMBERS,
    rate: "write",
    method: "PUT",
    path: "/v1/uploads/{upload}",
    operationId: "putUpload",
    summary: "Upload a file",
    description:
      "Takes the file as the body, e.g. `curl -T list.csv`, and hands it on to object storage as it comes. It is there " +
      "when the answer comes, whole, or not at all. The path ends with the file's name. Of `multipart/form-data` the one " +
      "file in it is taken; other `multipart` types and `application/x-www-form-urlencoded` are refused (415). " +
      "`Content-MD5`, `Content-Digest` and `Repr-Digest` are checked: a wrong one is refused (400) and nothing is kept. " +
      "`Content-Range` is refused. With `Content-Encoding: gzip` the bytes are stored as they come, and read as gzip. " +
      `A team may send ${streamedPerTeam} files at once to one process, and as many with test keys (429).`,
    feature: "bulk",
    errors: ["bulk_too_large", "limit_reached", "feature_unconfigured"],
    params: FileParamsSchema,
    bodyExample: "email,name\nsomeone@example.com,Someone\n",
    success: { status: 201, description: "The upload", schema: UploadSchema, example: uploadExample },
    handler({ params, body }, actor, context) {
      const gone = new AbortController();
      context.onCancel(() => gone.abort(new Error("the client has gone")));
      return uploads.receive(actor, params.upload, fileBodyOf(context.headers, body), gone.signal);
    },
  });
}

function getRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "read",
    waitsElsewhere: true,
    method: "GET",
    path: "/v1/uploads/{upload}",
    operationId: "getUpload",
    summary: "Look at an upload",
    description:
      "Whose bytes are more than a list of the team may have is given up when that is seen: 413, and then it is gone.",
    errors: ["not_found", "bulk_too_large", "feature_unconfigured"],
    params: UploadParamsSchema,
    success: { status: 200, description: "The upload", schema: UploadSchema, example: uploadExample },
    handler: ({ params }, actor) => uploads.get(actor, params.upload),
  });
}

function partsRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    // A write, since it asks object storage, signs up to LIMITS.uploads.parts URLs, and keeps the upload open.
    rate: "write",
    method: "GET",
    path: "/v1/uploads/{upload}/parts",
    operationId: "listUploadParts",
    summary: "Resume an upload in parts",
    description:
      "Which parts of an open upload object storage has, and a new URL for each other one, valid for an hour (`expires_at`). A " +
      "part of another size than announced counts as not sent. The upload expires with the new URLs, and is removed " +
      `${unfinishedMs / HOUR_MS} hours after that, but it is open for ${openMs / DAY_MS} days at most. 404 also when there are no parts to ` +
      "be sent: the upload is `stored`, was not made in parts, or has been open for too long (`GET /v1/uploads/{upload}` tells). " +
      "One that has expired counts for the team's limits again (409). A team may have " +
      `${partListsPerShare} requests that list or make parts under way at one process, and as many with test keys (429).`,
    feature: "bulk",
    errors: ["not_found", "limit_reached", "bulk_too_large", "feature_unconfigured"],
    params: UploadParamsSchema,
    success: {
      status: 200,
      description: "The parts",
      schema: OpenPartsSchema,
      example: openPartsExample,
    },
    handler: ({ params }, actor) => uploads.listParts(actor, params.upload),
  });
}

function completeRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "POST",
    path: "/v1/uploads/{upload}/complete",
    operationId: "completeUpload",
    summary: "Complete an upload in parts",
    description:
      "Makes the parts that were sent the file. Refused when they are not the file that was announced. May be repeated. " +
      "An upload that has expired counts for the team's limits again (409).",
    errors: ["not_found", "upload_missing", "limit_reached", "bulk_too_large", "feature_unconfigured"],
    params: UploadParamsSchema,
    success: { status: 200, description: "The upload", schema: UploadSchema, example: uploadExample },
    handler: ({ params }, actor) => uploads.complete(actor, params.upload),
  });
}

function previewRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "POST",
    path: "/v1/uploads/{upload}/preview",
    operationId: "previewUpload",
    summary: "Show how an upload would be read",
    description:
      "What a job with these options would make of the upload, by its first bytes: the layout, the columns that may hold the " +
      `addresses with the evidence for each, and the first ${previewRows} rows. Costs nothing and changes nothing. What would fail the ` +
      "job at its beginning is refused with the job's code (422); `email_column_ambiguous` has `candidates`, and is answered " +
      `by \`email_column\`. It reads at most ${previewFileBytes / 1_048_576} MiB of the file: \`not_readable\` where that shows no rows.`,
    feature: "bulk",
    errors: ["not_found", "upload_missing", "bulk_too_large", "feature_unconfigured", ...LIST_ERROR_CODES],
    params: UploadParamsSchema,
    body: FileOptionsSchema,
    bodyExample: { email_column: "Business Email" },
    success: {
      status: 200,
      description: "How it would be read",
      schema: UploadPreviewSchema,
      example: previewExample,
    },
    handler({ params, body }, actor, context) {
      const gone = new AbortController();
      context.onCancel(() => gone.abort(new Error("the client has gone")));
      return uploads.preview(actor, params.upload, readSourceOptions(body), gone.signal);
    },
  });
}

function removeRoute(uploads: Uploads): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "DELETE",
    path: "/v1/uploads/{upload}",
    operationId: "deleteUpload",
    summary: "Delete an upload",
    needsUser: true,
    description:
      "It is gone at once, its bytes soon after. Refused while a job that has not ended reads it. Results of a job that " +
      "was cancelled are made from it when they are asked for: they go with it.",
    errors: ["not_found", "upload_in_use", "feature_unconfigured"],
    params: UploadParamsSchema,
    success: { status: 204, description: "Deleted", schema: null },
    async handler({ params }, actor) {
      await uploads.remove(actor, params.upload);
      return null;
    },
  });
}
