import { RcptError } from "../http/errors.ts";
import type { Transport } from "../http/transport.ts";
import { followJob, type JobSnapshot, readJob } from "./follow.ts";
import { type ResultRow, type RowFilter, readResultBytes, readRows } from "./results.ts";

export interface ReadOptions {
  signal?: AbortSignal | undefined;
}

export interface DownloadOptions extends ReadOptions, RowFilter {
  /** `csv` when absent. */
  format?: "csv" | "jsonl" | undefined;
}

/** A list that is verified in the background. */
export interface Job {
  readonly id: string;
  /** The job as it was last seen by this object; null: not yet. */
  readonly snapshot: JobSnapshot | null;
  /** Asks how it stands. @throws RcptError */
  read(options?: ReadOptions): Promise<JobSnapshot>;
  /** The job whenever it has changed, to its end. Reconnects by itself. @throws RcptError; the reason of `signal` */
  progress(options?: ReadOptions): AsyncGenerator<JobSnapshot, void>;
  /** The job as it ended: `completed`, `failed` (its `error` says why) or `cancelled`. @throws as `progress` */
  done(options?: ReadOptions): Promise<JobSnapshot>;
  /** Its rows with their results, in the order of the list; also while it runs, what is answered. @throws RcptError */
  results(options?: RowFilter & ReadOptions): AsyncGenerator<ResultRow, void>;
  /** Its results as a file, byte by byte. @throws RcptError, also while it is read */
  download(options?: DownloadOptions): ReadableStream<Uint8Array>;
  /** Cancels the job; results so far are kept. Does nothing if it is cancelled already. @throws RcptError */
  cancel(options?: ReadOptions): Promise<JobSnapshot>;
  /** Removes it and its results. @throws RcptError */
  remove(options?: ReadOptions): Promise<void>;
}

/** A stream of an iteration's values, with back-pressure: it reads no further than its consumer. */
function asStream(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return();
    },
  });
}

class FollowedJob implements Job {
  readonly id: string;
  readonly #transport: Transport;
  #snapshot: JobSnapshot | null;

  constructor(transport: Transport, id: string, snapshot: JobSnapshot | null) {
    this.#transport = transport;
    this.id = id;
    this.#snapshot = snapshot;
  }

  get snapshot(): JobSnapshot | null {
    return this.#snapshot;
  }

  #keep(snapshot: JobSnapshot): JobSnapshot {
    this.#snapshot = snapshot;
    return snapshot;
  }

  async read({ signal }: ReadOptions = {}): Promise<JobSnapshot> {
    return this.#keep(await readJob(this.#transport, this.id, signal));
  }

  async *progress({ signal }: ReadOptions = {}): AsyncGenerator<JobSnapshot, void> {
    for await (const snapshot of followJob(this.#transport, this.id, signal)) yield this.#keep(snapshot);
  }

  async done(options: ReadOptions = {}): Promise<JobSnapshot> {
    let last: JobSnapshot | null = null;
    for await (const snapshot of this.progress(options)) last = snapshot;
    return last ?? this.read(options);
  }

  results({ signal, ...filter }: RowFilter & ReadOptions = {}): AsyncGenerator<ResultRow, void> {
    const query = { ...filter, format: "jsonl" as const };
    return readRows({ transport: this.#transport, id: this.id, query, signal });
  }

  download({ signal, format = "csv", ...filter }: DownloadOptions = {}): ReadableStream<Uint8Array> {
    const query = { ...filter, format };
    return asStream(readResultBytes({ transport: this.#transport, id: this.id, query, signal }));
  }

  async cancel({ signal }: ReadOptions = {}): Promise<JobSnapshot> {
    const path = "/v1/bulk-jobs/{id}/cancel";
    const request = { method: "POST", path, parameters: { id: this.id }, signal };
    try {
      return this.#keep((await this.#transport.json(request)) as JobSnapshot);
    } catch (error) {
      if (!(error instanceof RcptError) || error.code !== "job_finished") throw error;
      // Perhaps by this very request, whose first answer was lost.
      const ended = await this.read({ signal });
      if (ended.status !== "cancelled") throw error;
      return ended;
    }
  }

  async remove({ signal }: ReadOptions = {}): Promise<void> {
    const path = "/v1/bulk-jobs/{id}";
    await this.#transport.json({ method: "DELETE", path, parameters: { id: this.id }, signal });
  }
}

export function createJob(transport: Transport, id: string, snapshot: JobSnapshot | null): Job {
  return new FollowedJob(transport, id, snapshot);
}
