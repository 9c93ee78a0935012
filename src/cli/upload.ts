import { type Client, type Job, RcptError } from "../../packages/client/src/index.ts";
import { startBar } from "./job-progress.ts";
import { connect, urlInUse } from "./service.ts";
import { rememberUpload, type UploadMemory } from "./upload-memory.ts";

export interface UploadOptions {
  column?: string;
  evidence: boolean;
  via: "storage" | "service";
}

/** The list of a command, until it is a job. */
interface Submission {
  client: Client;
  memory: UploadMemory;
  path: string;
  options: UploadOptions;
  signal: AbortSignal;
}

async function send({ client, memory, path, options, signal }: Submission, resume?: string): Promise<Job> {
  const { column, evidence, via } = options;
  const bar = startBar("bytes");
  try {
    return await client.bulk.submitFile(path, {
      ...(column === undefined ? {} : { email_column: /^\d+$/.test(column) ? Number(column) : column }),
      ...{ evidence, via, signal, resume, idempotencyKey: memory.idempotencyKey },
      onProgress: ({ uploadId, sentBytes, totalBytes }) => {
        if (uploadId !== null && via === "storage") memory.keep(uploadId);
        bar.show(sentBytes, totalBytes ?? sentBytes, "sent");
      },
    });
  } finally {
    bar.stop();
  }
}

/** True when the upload does not exist any more, or is of another file. */
const isGone = (error: unknown) =>
  error instanceof RcptError && (error.status === 404 || error.code === "file_changed");

/** Uploads the list, from where the same command stopped before. @throws RcptError; Error of the disk; the reason of `signal` */
async function submit(submission: Submission): Promise<Job> {
  const { memory, options } = submission;
  const resume = options.via === "storage" ? memory.begun?.uploadId : undefined;
  if (resume !== undefined)
    process.stderr.write("rcpt: this list was being sent before: sending what is missing\n");
  const job = await send(submission, resume).catch((error: unknown) => {
    if (resume === undefined || !isGone(error)) throw error;
    process.stderr.write("rcpt: the service does not keep what was sent: sending all of it\n");
    return send(submission);
  });
  memory.forget();
  return job;
}

/**
 * Creates a job from the list at `path`. Until then the progress of the upload is stored.
 * @returns null: it was interrupted, and the person was told how to resume.
 * @throws UsageError; RcptError; Error of the disk
 */
export async function upload(path: string, options: UploadOptions, signal: AbortSignal): Promise<Job | null> {
  const client = connect();
  const { column, evidence } = options;
  const memory = rememberUpload(urlInUse(), path, { column, evidence });
  try {
    return await submit({ client, memory, path, options, signal });
  } catch (error) {
    if (memory.isKept) process.stderr.write("rcpt: the same command goes on where the upload has stopped\n");
    if (!signal.aborted) throw error;
    return null;
  }
}
