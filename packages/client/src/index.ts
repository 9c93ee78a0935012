/** Client of rcpt. README.md has an example for each task. */
export type { BulkApi, FileOptions, ListOptions } from "./bulk/bulk.ts";
export type { ListSource } from "./bulk/file-source.ts";
export type { JobSnapshot } from "./bulk/follow.ts";
export type { DownloadOptions, Job, ReadOptions } from "./bulk/job.ts";
export type { ResultRow, RowFilter } from "./bulk/results.ts";
export type { UploadProgress } from "./bulk/upload.ts";
export {
  type Client,
  type ClientOptions,
  createClient,
  type Verification,
  type VerifyOptions,
} from "./client.ts";
export type { FeedbackEvent, FeedbackOptions, FeedbackReport } from "./feedback.ts";
export { type ClientErrorCode, type ErrorCode, type Problem, RcptError } from "./http/errors.ts";
export type { Limit, Limits } from "./http/limits.ts";
export type { Answer, ItemOf, Method, PagedPath, PathOf, RequestOptions } from "./http/paths.ts";
export type { components, operations, paths } from "./schema.d.ts";
export { type VerifyWebhookOptions, type WebhookEvent, type WebhookHeaders, webhooks } from "./webhooks.ts";
