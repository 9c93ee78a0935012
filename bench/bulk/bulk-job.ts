import { Readable } from "node:stream";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import { InvalidRun } from "../report/figures.ts";

/** URL and key of the service that a bench calls. */
export interface BulkClient {
  url: string;
  key: string;
}

const POLL_MS = 500;
/** A job without progress for this long hangs, even on a slow machine. */
const STALLED_MS = 600_000;
const ENDS: readonly BulkJob["status"][] = ["completed", "failed", "cancelled"];

async function call<T>({ url, key }: BulkClient, path: string, init: RequestInit = {}): Promise<T> {
  const asked = `${init.method ?? "GET"} ${path}`;
  // A connection each: one that idled while a list was watched may be closed by the API in the moment it is used.
  const headers = { Authorization: `Bearer ${key}`, Connection: "close", ...init.headers };
  const response = await fetch(url + path, { ...init, headers }).catch((error: Error) => {
    throw new InvalidRun(`${asked}: ${error.message}: ${(error.cause as Error | undefined)?.message}`);
  });
  const text = await response.text();
  if (!response.ok) throw new InvalidRun(`${asked}: HTTP ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Streams a file through the API into object storage. @returns the upload's id */
export async function upload(client: BulkClient, name: string, pieces: Iterable<Buffer>): Promise<string> {
  const body = Readable.toWeb(Readable.from(pieces)) as ReadableStream;
  const init = { method: "PUT", body, duplex: "half" } as RequestInit;
  return (await call<{ id: string }>(client, `/v1/uploads/${name}`, init)).id;
}

export function submitUpload(client: BulkClient, uploadId: string): Promise<BulkJob> {
  return call(client, "/v1/verify/bulk", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ upload_id: uploadId }),
  });
}

/**
 * The job once it has completed.
 * @param look called after each look at the job
 * @throws InvalidRun when it ends otherwise, or goes on no more
 */
export async function completed(
  client: BulkClient,
  id: string,
  look: (job: BulkJob) => void = () => {},
): Promise<BulkJob> {
  let moved = { at: performance.now(), state: "" };
  for (;;) {
    const job = await call<BulkJob>(client, `/v1/bulk-jobs/${id}`);
    look(job);
    if (job.status === "completed") return job;
    if (ENDS.includes(job.status))
      throw new InvalidRun(`job ${id} ended ${job.status}: ${job.error?.detail ?? "nobody said why"}`);
    const state = `${job.status} ${job.rows.processed}`;
    if (state !== moved.state) moved = { at: performance.now(), state };
    if (performance.now() - moved.at > STALLED_MS) throw new InvalidRun(`job ${id} hangs: ${state} rows`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * @param wanted how often each verdict must have come; those that are left out, never
 * @throws InvalidRun where it is otherwise
 */
export function requireVerdicts(
  what: string,
  { verdicts }: BulkJob,
  wanted: Partial<BulkJob["verdicts"]>,
): void {
  const whole = { valid: 0, invalid: 0, risky: 0, unknown: 0, ...wanted };
  for (const [verdict, count] of Object.entries(whole))
    if (verdicts[verdict as keyof typeof whole] !== count)
      throw new InvalidRun(`${what}: ${JSON.stringify(verdicts)}, not ${JSON.stringify(whole)}`);
}
