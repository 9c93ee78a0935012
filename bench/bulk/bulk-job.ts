import { Readable } from "node:stream";
import { type Client, createClient, type JobSnapshot } from "../../packages/client/src/index.ts";
import { InvalidRun } from "../report/figures.ts";

/** A job without progress for this long hangs, even on a slow machine. */
const STALLED_MS = 600_000;

/** A client of the service that a bench calls. It waits for each request, and repeats none but those of events and results. */
export function benchClient(url: string, key: string): Client {
  return createClient({
    ...{ url, key, maxAttempts: 1, timeoutMs: Number.POSITIVE_INFINITY },
    // A connection each: one that idled while a list was watched may be closed by the API in the moment it is used.
    fetch(input, init) {
      const headers = new Headers(init?.headers);
      headers.set("Connection", "close");
      return fetch(input, { ...init, headers });
    },
  });
}

function invalid(error: Error): never {
  const { message, cause } = error;
  throw cause instanceof Error ? new InvalidRun(`${message} ${cause.message}`) : new InvalidRun(message);
}

/** Streams a file through the API into object storage. @returns the upload's id */
export async function upload(client: Client, name: string, pieces: Iterable<Buffer>): Promise<string> {
  const body = Readable.toWeb(Readable.from(pieces)) as ReadableStream<Uint8Array>;
  return (
    await client.request("PUT", "/v1/uploads/{upload}", { path: { upload: name }, body }).catch(invalid)
  ).id;
}

export function submitUpload(client: Client, uploadId: string): Promise<JobSnapshot> {
  return client.request("POST", "/v1/verify/bulk", { body: { upload_id: uploadId } }).catch(invalid);
}

/**
 * The job once it has completed.
 * @param onChange called whenever the job has changed
 * @throws InvalidRun when it ends otherwise, or goes on no more
 */
export async function completed(
  client: Client,
  id: string,
  onChange: (job: JobSnapshot) => void = () => {},
): Promise<JobSnapshot> {
  const job = client.bulk.job(id);
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new InvalidRun(`job ${id} hangs`)), STALLED_MS);
  try {
    for await (const snapshot of job.progress({ signal: stalled.signal })) {
      timer.refresh();
      onChange(snapshot);
    }
  } catch (error) {
    invalid(error as Error);
  } finally {
    clearTimeout(timer);
  }
  const last = job.snapshot;
  if (last?.status === "completed") return last;
  throw new InvalidRun(`job ${id} ended ${last?.status}: ${last?.error?.detail ?? "no reason given"}`);
}

/**
 * @param wanted how often each verdict must have come; those that are left out, never
 * @throws InvalidRun where it is otherwise
 */
export function requireVerdicts(
  what: string,
  { verdicts }: JobSnapshot,
  wanted: Partial<JobSnapshot["verdicts"]>,
): void {
  const whole = { valid: 0, invalid: 0, risky: 0, unknown: 0, ...wanted };
  for (const [verdict, count] of Object.entries(whole))
    if (verdicts[verdict as keyof typeof whole] !== count)
      throw new InvalidRun(`${what}: ${JSON.stringify(verdicts)}, not ${JSON.stringify(whole)}`);
}
