import { type Client, createClient, type JobSnapshot, RcptError } from "../../packages/client/src/index.ts";
import { LIMITS } from "./bounds.ts";

/** A refusal, or a failure that does not pass: no reason to try again. */
export class BulkFault extends Error {
  override name = "BulkFault";
}

export interface BulkCallSettings {
  origin: string;
  basePath: string;
  key: string;
  /** Ends all calls, with its reason. */
  ending: AbortSignal;
}

interface Submission {
  body: { emails: string[] } | { upload_id: string };
  idempotencyKey: string;
}

const SUBMIT_PATH = "/v1/verify/bulk";
const NEWLINE = 10;

/** No stream: it can be sent again. One text: a Blob of a part a row stops the generator for a second. */
function csvOf(addresses: readonly string[]): Blob {
  return new Blob([`email\n${addresses.map((address) => `"${address.replaceAll('"', '""')}"\n`).join("")}`]);
}

/** Throws status and code of a refusal: text of the server is not shown. */
const failing = (what: string) => (error: unknown) => {
  if (!(error instanceof RcptError)) throw error;
  const { status, code } = error;
  const known = /^[a-z0-9_]{1,64}$/.test(code) ? ` ${code}` : "";
  throw new BulkFault(`${what}: ${status === 0 ? "no answer," : `HTTP ${status}`}${known}`);
};

/** @throws BulkFault unless it is a job, as far as we look at one */
function jobOf(answer: JobSnapshot): JobSnapshot {
  const { id, status, rows, verdicts } = (answer ?? {}) as Partial<JobSnapshot>;
  const isJob =
    typeof status === "string" && typeof rows?.processed === "number" && typeof verdicts === "object";
  if (!isJob || !/^[A-Za-z0-9_-]{1,100}$/.test(id ?? "")) throw new BulkFault("an answer that is no job");
  return answer;
}

/** The API's calls about one job, one after the other. @throws BulkFault, or the reason of `ending` */
export class BulkCalls {
  readonly #client: Client;
  readonly #ending: AbortSignal;
  /** Answers with 429 or 5xx, and broken connections. */
  triedAgain = 0;
  /** The last submission, sent and not answered with a job. */
  #unanswered: Submission | null = null;

  constructor({ origin, basePath, key, ending }: BulkCallSettings) {
    this.#ending = ending;
    this.#client = createClient({
      ...{ url: origin + basePath, key, maxAttempts: LIMITS.bulkCallAttempts, timeoutMs: LIMITS.bulkCallMs },
      fetch: (input, init) => this.#fetch(input, init ?? {}),
    });
  }

  async #fetch(input: string | URL | Request, { signal, ...init }: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("User-Agent", "rcpt-load");
    const signals = signal ? [signal] : [];
    // An upload is answered at its end, and events come as long as the job takes.
    if (init.method === "POST") signals.push(AbortSignal.timeout(LIMITS.bulkSilenceMs));
    const response = await fetch(input, { ...init, headers, signal: AbortSignal.any(signals) }).catch(
      (error) => {
        if (signal?.aborted !== true) this.triedAgain += 1;
        throw error;
      },
    );
    if (response.status === 429 || response.status >= 500) this.triedAgain += 1;
    return response;
  }

  /** @returns the upload's id */
  async upload(name: string, addresses: readonly string[]): Promise<string> {
    // As long as it takes: only `ending` aborts it.
    const given = { body: csvOf(addresses), signal: this.#ending, timeoutMs: Number.POSITIVE_INFINITY };
    const path = "/v1/uploads/{upload}";
    const call = this.#client.request("PUT", path, { ...given, path: { upload: name } });
    return (await call.catch(failing("upload"))).id;
  }

  /**
   * A submission with `unavailable` is not repeated: the API says that the work may have been done although the key is free.
   */
  async submit(body: Submission["body"], idempotencyKey: string): Promise<JobSnapshot> {
    this.#unanswered = { body, idempotencyKey };
    const call = this.#client.request("POST", SUBMIT_PATH, { ...this.#unanswered, signal: this.#ending });
    const job = jobOf(await call.catch(failing("submission")));
    this.#unanswered = null;
    return job;
  }

  /** The job whenever it has changed, to its end. */
  async *progress(id: string): AsyncGenerator<JobSnapshot, void> {
    try {
      yield* this.#client.bulk.job(id).progress({ signal: this.#ending });
    } catch (error) {
      failing("events of the job")(error);
    }
  }

  /** Reads all results. @returns lines and bytes */
  results(id: string): Promise<{ lines: number; bytes: number }> {
    const pieces = this.#client.bulk.job(id).download({ format: "jsonl", signal: this.#ending });
    return countLines(pieces).catch(failing("results"));
  }

  /** Ignores the outcome. */
  async cancel(id: string): Promise<void> {
    const signal = AbortSignal.timeout(LIMITS.bulkCancelMs);
    await this.#client.bulk
      .job(id)
      .cancel({ signal })
      .catch(() => {});
  }

  /**
   * Cancels the job of a submission that was interrupted before its answer: repeating it with the same key returns its
   * job, once that exists. Ignores the outcome; does nothing where no submission was sent.
   */
  async cancelSubmitted(): Promise<void> {
    if (this.#unanswered === null) return;
    const given = { ...this.#unanswered, timeoutMs: LIMITS.bulkCancelMs };
    const job = await this.#client
      .request("POST", SUBMIT_PATH, given)
      .then(jobOf)
      .catch(() => null);
    if (job !== null) await this.cancel(job.id);
  }
}

async function countLines(pieces: ReadableStream<Uint8Array>): Promise<{ lines: number; bytes: number }> {
  let lines = 0;
  let bytes = 0;
  for await (const chunk of pieces) {
    bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
  }
  return { lines, bytes };
}
