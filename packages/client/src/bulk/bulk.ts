import type { RequestOptions } from "../http/paths.ts";
import type { Transport } from "../http/transport.ts";
import { type ListSource, openSource } from "./file-source.ts";
import type { JobSnapshot } from "./follow.ts";
import { createJob, type Job } from "./job.ts";
import { streamOf } from "./readable-file.ts";
import { type UploadContext, type UploadProgress, uploadInParts, uploadWhole } from "./upload.ts";

type Submission = RequestOptions<"POST", "/v1/verify/bulk">["body"];

/** Options of a job besides its list, named as in the API: `metadata`, `evidence`, `webhook_url`, ... */
type JobOptions = Partial<Omit<Submission, "emails" | "upload_id" | "s3">> & {
  signal?: AbortSignal | undefined;
};

export type ListOptions = JobOptions & {
  /** A random one when absent. With your own the same list is one job, also after a restart of your program. */
  idempotencyKey?: string | undefined;
};

export interface FileOptions extends JobOptions {
  /** Name of the file; absent: the source's name. */
  filename?: string | undefined;
  /**
   * Idempotency key of the job; absent: a random one. With your own, a list that is submitted again after a lost answer
   * becomes one job.
   */
  idempotencyKey?: string | undefined;
  /** `uploadId` from `onProgress` of an earlier attempt: only the missing parts are sent. For a path or a Blob. */
  resume?: string | undefined;
  /**
   * `storage`, the standard of paths and Blobs: in parts to object storage, three at once, each repeated as needed. `service`: as one
   * body through the service, for programs that cannot reach its object storage.
   */
  via?: "storage" | "service" | undefined;
  /**
   * Bytes of each part of a file, at least 5 MiB; absent: 16 MiB. A failed part is sent again whole. Three are in
   * memory.
   */
  partBytes?: number | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface BulkApi {
  /** Verifies up to 10,000 addresses as a job. @throws RcptError */
  submit(emails: readonly string[], options?: ListOptions): Promise<Job>;
  /**
   * Uploads a list and verifies it as a job.
   * @throws RcptError; Error of the disk; the reason of `signal`
   */
  submitFile(source: ListSource, options?: FileOptions): Promise<Job>;
  /** A job by its id. Asks nothing yet. */
  job(id: string): Job;
}

/** Uploads a file. @returns the upload's id */
async function upload(
  transport: Transport,
  source: ListSource,
  options: FileOptions,
  signal: AbortSignal,
): Promise<string> {
  const { filename, resume, partBytes, onProgress } = options;
  const context: UploadContext = { transport, signal, filename, resume, partBytes, onProgress };
  const opened = await openSource(source, transport.fetch, signal);
  if ("stream" in opened) return uploadWhole(context, { name: opened.name, body: opened.stream });
  try {
    // A file in parts has at least one byte.
    if (options.via !== "service" && opened.bytes > 0) return await uploadInParts(context, opened);
    // A Blob is sent unchanged: not every browser can send a stream.
    const body = source instanceof Blob ? source : streamOf(opened);
    return await uploadWhole(context, { name: opened.name, body });
  } finally {
    await opened.close();
  }
}

export function createBulk(transport: Transport): BulkApi {
  async function submit(
    body: Submission,
    call: Pick<ListOptions, "signal" | "idempotencyKey">,
  ): Promise<Job> {
    const request = { ...call, method: "POST", path: "/v1/verify/bulk", body };
    const snapshot = (await transport.json(request)) as JobSnapshot;
    return createJob(transport, snapshot.id, snapshot);
  }
  return {
    submit(emails, { signal, idempotencyKey, ...rest } = {}) {
      return submit({ ...rest, emails: [...emails] }, { signal, idempotencyKey });
    },
    async submitFile(source, options = {}) {
      const signal = options.signal ?? new AbortController().signal;
      const { filename, resume, via, partBytes, onProgress, idempotencyKey, signal: _, ...rest } = options;
      const sent = { filename, resume, via, partBytes, onProgress };
      const upload_id = await upload(transport, source, sent, signal);
      return submit({ ...rest, upload_id }, { signal, idempotencyKey });
    },
    job: (id) => createJob(transport, id, null),
  };
}
