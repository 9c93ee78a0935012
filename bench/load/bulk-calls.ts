import { Readable } from "node:stream";
import { type Clock, pause } from "../../src/platform/time/clock.ts";
import { LIMITS } from "./bounds.ts";
import { retryAfterMs } from "./outcome.ts";

/** A job as the API shows it; only the fields that are read. */
export interface JobState {
  id: string;
  status: string;
  rows: { total: number; processed: number };
  verdicts: Record<string, number>;
  error: { code: string; detail: string } | null;
}

/** A refusal, or a failure that does not pass: no reason to try again. */
export class BulkFault extends Error {
  override name = "BulkFault";
}

export interface BulkCalls {
  /** @returns the upload's id */
  upload(name: string, addresses: readonly string[]): Promise<string>;
  submit(body: Record<string, unknown>, idempotencyKey: string): Promise<JobState>;
  look(id: string): Promise<JobState>;
  /** Reads all results. @returns lines and bytes */
  results(id: string): Promise<{ lines: number; bytes: number }>;
  /** Sends one request, and ignores its outcome. */
  cancel(id: string): Promise<void>;
  /**
   * Cancels the job of a submission that was interrupted before its answer: repeating it with the same key returns its
   * job, once that exists. Ignores the outcome; does nothing where no submission was sent.
   */
  cancelSubmitted(): Promise<void>;
  /** Number of calls that were repeated. */
  readonly triedAgain: number;
}

export interface BulkCallSettings {
  origin: string;
  basePath: string;
  key: string;
  clock: Clock;
  /** Ends all calls. */
  stopping: AbortSignal;
}

const SUBMIT_PATH = "/v1/verify/bulk";
const PIECE_ROWS = 1_000;
const NEWLINE = 10;

/** @param alive called for each piece that is read */
function* csvOf(addresses: readonly string[], alive: () => void): Generator<Buffer> {
  yield Buffer.from("email\n");
  for (let at = 0; at < addresses.length; at += PIECE_ROWS) {
    alive();
    const cells = addresses
      .slice(at, at + PIECE_ROWS)
      .map((address) => `"${address.replaceAll('"', '""')}"\n`);
    yield Buffer.from(cells.join(""));
  }
}

/** Thrown when the answer asks to repeat the call later. */
class ComeAgain extends Error {
  override name = "ComeAgain";
  readonly afterMs: number;

  constructor(afterMs: number) {
    super("come again");
    this.afterMs = afterMs;
  }
}

interface Call<T> {
  method: string;
  path: string;
  /** Made anew for each try. @param alive puts off the end of a call that goes on */
  init?: (alive: () => void) => RequestInit;
  read: (response: Response, alive: () => void) => Promise<T>;
}

/** Tries again what may pass: 429 and 503 that say when, and broken connections. */
class ApiCalls {
  readonly #settings: BulkCallSettings;
  triedAgain = 0;

  constructor(settings: BulkCallSettings) {
    this.#settings = settings;
  }

  /** A call beside the run, which is over: bounded in time. */
  afterwards(path: string, init: RequestInit = {}): Promise<Response> {
    return this.#fetch(path, "POST", AbortSignal.timeout(LIMITS.bulkCancelMs), init);
  }

  #fetch(
    path: string,
    method: string,
    signal: AbortSignal,
    { headers, ...rest }: RequestInit,
  ): Promise<Response> {
    const { origin, basePath, key } = this.#settings;
    return fetch(origin + basePath + path, {
      ...rest,
      method,
      headers: { Authorization: `Bearer ${key}`, "User-Agent": "rcpt-load", ...headers },
      signal,
    });
  }

  /** @throws ComeAgain, BulkFault, or what fetch throws where there was no whole answer within LIMITS.bulkCallMs of silence */
  async #once<T>({ method, path, init, read }: Call<T>): Promise<T> {
    const { clock, stopping } = this.#settings;
    // No AbortSignal.any: Node 20 never frees its signals.
    const limit = new AbortController();
    const stop = () => limit.abort();
    let timer = clock.after(LIMITS.bulkCallMs, stop);
    const alive = () => {
      timer.cancel();
      timer = clock.after(LIMITS.bulkCallMs, stop);
    };
    stopping.addEventListener("abort", stop, { once: true });
    try {
      const response = await this.#fetch(path, method, limit.signal, init?.(alive) ?? {});
      if (response.ok) return await read(response, alive);
      const afterMs = pauseAfter(response, clock.now());
      if (afterMs === null)
        throw new BulkFault(`${method} ${path.split("?")[0]}: ${await wordsOf(response)}`);
      await response.body?.cancel();
      throw new ComeAgain(afterMs);
    } finally {
      timer.cancel();
      stopping.removeEventListener("abort", stop);
    }
  }

  async call<T>(what: Call<T>): Promise<T> {
    const { clock, stopping } = this.#settings;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#once(what).then(
        (value) => ({ value }),
        (error: Error) => ({ error }),
      );
      if ("value" in outcome) return outcome.value;
      const { error } = outcome;
      if (stopping.aborted) throw new BulkFault("interrupted");
      if (error instanceof BulkFault) throw error;
      if (attempt >= LIMITS.bulkCallFailures)
        throw new BulkFault(`${what.method} ${what.path.split("?")[0]}: given up after ${attempt} tries`);
      this.triedAgain += 1;
      await pause(clock, error instanceof ComeAgain ? error.afterMs : LIMITS.bulkPollMs);
    }
  }
}

/** The API's calls about jobs. */
export function createBulkCalls(settings: BulkCallSettings): BulkCalls {
  const api = new ApiCalls(settings);
  /** The last submission, sent and not answered with a job. */
  let unanswered: RequestInit | null = null;

  async function cancel(id: string): Promise<void> {
    await api.afterwards(`/v1/bulk-jobs/${id}/cancel`).catch(() => {});
  }

  return {
    upload: (name, addresses) =>
      api.call({
        method: "PUT",
        path: `/v1/uploads/${name}`,
        init: (alive) => {
          const body = Readable.toWeb(Readable.from(csvOf(addresses, alive))) as ReadableStream;
          return { body, duplex: "half" } as RequestInit;
        },
        read: async (response) => (await jsonOf<{ id: string }>(response)).id,
      }),
    async submit(body, idempotencyKey) {
      const submission = {
        headers: { "Content-Type": "application/json", "Idempotency-Key": idempotencyKey },
        body: JSON.stringify(body),
      };
      unanswered = submission;
      const job = await api.call({ method: "POST", path: SUBMIT_PATH, init: () => submission, read: jobOf });
      unanswered = null;
      return job;
    },
    look: (id) => api.call({ method: "GET", path: `/v1/bulk-jobs/${id}`, read: jobOf }),
    results: (id) =>
      api.call({ method: "GET", path: `/v1/bulk-jobs/${id}/results?format=jsonl`, read: countLines }),
    cancel,
    async cancelSubmitted() {
      for (let tries = 1; unanswered !== null && tries <= LIMITS.bulkCancelTries; tries++) {
        if (tries > 1) await pause(settings.clock, LIMITS.bulkPollMs);
        const response = await api.afterwards(SUBMIT_PATH, unanswered).catch(() => null);
        // The first is still being worked on.
        if (response?.status === 409) continue;
        const job = response?.ok ? await jobOf(response).catch(() => null) : null;
        return job === null ? undefined : cancel(job.id);
      }
    },
    get triedAgain() {
      return api.triedAgain;
    },
  };
}

/** Milliseconds to wait before the next attempt; null: this answer is final. */
function pauseAfter(response: Response, nowMs: number): number | null {
  if (response.status !== 429 && response.status !== 503) return null;
  const asked = retryAfterMs(response.headers.get("retry-after"), nowMs) ?? LIMITS.bulkPollMs;
  return asked <= LIMITS.retryAfterMaxMs ? asked : null;
}

async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new BulkFault("an answer that is no JSON");
  }
}

/** @throws BulkFault unless it is a job, as far as we look at one */
async function jobOf(response: Response): Promise<JobState> {
  const job = await jsonOf<Partial<JobState> | null>(response);
  const { id, status, rows, verdicts } = job ?? {};
  const isJob =
    typeof id === "string" &&
    typeof status === "string" &&
    typeof rows?.total === "number" &&
    typeof rows.processed === "number" &&
    typeof verdicts === "object" &&
    verdicts !== null;
  if (!isJob || !/^[A-Za-z0-9_-]{1,100}$/.test(id)) throw new BulkFault("an answer that is no job");
  return job as JobState;
}

async function countLines(response: Response, alive: () => void): Promise<{ lines: number; bytes: number }> {
  let lines = 0;
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    alive();
    bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
  }
  return { lines, bytes };
}

/** Status of an answer, with its error code where it has one. */
async function wordsOf(response: Response): Promise<string> {
  const problem = (await response.json().catch(() => null)) as { code?: unknown } | null;
  const code =
    typeof problem?.code === "string" && /^[a-z0-9_]{1,64}$/.test(problem.code) ? ` ${problem.code}` : "";
  return `HTTP ${response.status}${code}`;
}
