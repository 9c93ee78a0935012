import type { JobSnapshot } from "../../packages/client/src/index.ts";
import { type Clock, pause } from "../../src/platform/time/clock.ts";
import type { AddressSource } from "./addresses.ts";
import { type BulkCallSettings, BulkCalls, BulkFault } from "./bulk-calls.ts";
import type { BulkView } from "./bulk-view.ts";
import type { BulkPlan } from "./options.ts";

export interface BulkDriverParts {
  plan: BulkPlan;
  /** Share of the rows that all jobs of this run have in common: the cache should know them from the second on. */
  repeat: number;
  service: Omit<BulkCallSettings, "ending">;
  addresses: AddressSource;
  clock: Clock;
  /** Part of the names of uploads and of idempotency keys. */
  run: string;
  /** Milliseconds from the start for which jobs are submitted. */
  endMs: number;
  stopping: AbortSignal;
}

export interface BulkDriver {
  /** Submits jobs in time and follows them. Resolves when the last has ended, or is given up. */
  run(): Promise<BulkView[]>;
  /** Submits no more: the singles are over. */
  finish(): void;
  /** Jobs in progress. */
  readonly underWay: number;
  readonly leftOut: number;
  /** Rows that are answered, of all jobs, as far as looked. */
  readonly processed: number;
}

const INTERRUPTED = "interrupted";
const GIVEN_UP = "had not ended when the wait for it was over; it goes on at the server";

/** Inconsistency of a completed job; null: none. */
export function faultOf(
  job: { rows: Pick<JobSnapshot["rows"], "total" | "processed">; verdicts: JobSnapshot["verdicts"] },
  rows: number,
  lines: number,
): string | null {
  const judged = Object.values(job.verdicts).reduce((sum, count) => sum + count, 0);
  if (job.rows.total !== rows) return `${rows} rows were sent, the job has ${job.rows.total}`;
  if (job.rows.processed !== rows) return `${rows} rows were sent, ${job.rows.processed} were processed`;
  if (judged !== rows) return `${rows} rows were sent, ${judged} have a verdict`;
  if (lines !== rows) return `${rows} rows were sent, the results have ${lines}`;
  return null;
}

/** One job: submitted, followed, read. */
class JobRun {
  readonly #parts: BulkDriverParts;
  readonly #ending = new AbortController();
  readonly #calls: BulkCalls;
  readonly view: BulkView;
  processed = 0;

  constructor(parts: BulkDriverParts, startMs: number, number: number) {
    const { clock, plan, service } = parts;
    this.#parts = parts;
    this.#calls = new BulkCalls({ ...service, ending: this.#ending.signal });
    this.view = {
      ...{ number, id: null, rows: plan.rows, atS: Math.round(clock.monotonic() - startMs) / 1_000 },
      ...{ status: "unsubmitted", submitMs: null, endToEndMs: null, rowsPerS: null },
      ...{ downloadMs: null, downloadBytes: null, verdicts: {}, triedAgain: 0, fault: null },
    };
  }

  /** Never rejects: what went wrong is in the view. @param waitMs how long it is waited for */
  async run(list: readonly string[], waitMs: number): Promise<void> {
    const { clock, stopping } = this.#parts;
    const givingUp = clock.after(waitMs, () => {
      this.#ending.abort(new BulkFault(this.view.id === null ? "could not be submitted in time" : GIVEN_UP));
    });
    const interrupt = () => this.#ending.abort(new BulkFault(INTERRUPTED));
    stopping.addEventListener("abort", interrupt, { once: true });
    try {
      if (stopping.aborted) interrupt();
      await this.#through(list, () => givingUp.cancel());
    } catch (error) {
      this.view.fault = error instanceof BulkFault ? error.message : `no answer: ${(error as Error).message}`;
      if (stopping.aborted) await this.#leaveNothing();
    } finally {
      givingUp.cancel();
      stopping.removeEventListener("abort", interrupt);
    }
    this.view.triedAgain = this.#calls.triedAgain;
  }

  async #submit(list: readonly string[]): Promise<JobSnapshot> {
    const name = `load-${this.#parts.run}-${this.view.number}`;
    const source =
      this.#parts.plan.way === "inline"
        ? { emails: [...list] }
        : { upload_id: await this.#calls.upload(`${name}.csv`, list) };
    return this.#calls.submit(source, name);
  }

  async #follow(taken: JobSnapshot): Promise<JobSnapshot> {
    let last = taken;
    for await (const job of this.#calls.progress(taken.id)) {
      last = job;
      this.view.status = job.status;
      this.processed = job.rows.processed;
    }
    return last;
  }

  /** @param onEnded called when the job has completed: its results are read to their end */
  async #through(list: readonly string[], onEnded: () => void): Promise<void> {
    const { view } = this;
    const { clock, plan } = this.#parts;
    const beganMs = clock.monotonic();
    const taken = await this.#submit(list);
    view.id = taken.id;
    view.submitMs = clock.monotonic() - beganMs;
    const job = await this.#follow(taken);
    view.verdicts = job.verdicts;
    if (job.status !== "completed")
      throw new BulkFault(`ended ${job.status}: ${job.error?.code ?? "no reason given"}`);
    onEnded();
    view.endToEndMs = clock.monotonic() - beganMs;
    view.rowsPerS = (plan.rows * 1_000) / view.endToEndMs;
    const fetchedMs = clock.monotonic();
    const { lines, bytes } = await this.#calls.results(taken.id);
    view.downloadMs = clock.monotonic() - fetchedMs;
    view.downloadBytes = bytes;
    view.fault = faultOf(job, plan.rows, lines);
  }

  /** So that an interrupted load leaves no load behind. */
  async #leaveNothing(): Promise<void> {
    const { id, status } = this.view;
    const hasEnded = status === "completed" || status === "failed" || status === "cancelled";
    if (id === null) await this.#calls.cancelSubmitted();
    else if (!hasEnded) await this.#calls.cancel(id);
  }
}

export function createBulkDriver(parts: BulkDriverParts): BulkDriver {
  const { plan, repeat, addresses, clock, endMs, stopping } = parts;
  const jobs: JobRun[] = [];
  const running = new Set<Promise<void>>();
  const common: string[] = [];
  const finished = new AbortController();
  // One listener for all waiters: a listener for each would never be removed.
  const over = Promise.race([aborted(stopping), aborted(finished.signal)]);
  let leftOut = 0;

  function listOf(): string[] {
    const shared = Math.round(plan.rows * repeat);
    while (common.length < shared) common.push(addresses.fresh());
    return [...common, ...Array.from({ length: plan.rows - shared }, () => addresses.fresh())];
  }

  function begin(startMs: number): void {
    const job = new JobRun(parts, startMs, jobs.length + 1);
    jobs.push(job);
    const under: Promise<void> = job
      .run(listOf(), startMs + endMs + plan.waitMs - clock.monotonic())
      .finally(() => running.delete(under));
    running.add(under);
  }

  return {
    async run() {
      const startMs = clock.monotonic();
      for (let turn = 0; turn * plan.everyMs < endMs; turn++) {
        const dueMs = startMs + turn * plan.everyMs;
        if (turn > 0) await Promise.race([pause(clock, dueMs - clock.monotonic()), over]);
        if (stopping.aborted || finished.signal.aborted) break;
        if (running.size >= plan.atOnce) leftOut += 1;
        else begin(startMs);
      }
      await Promise.all(running);
      return jobs.map(({ view }) => view);
    },
    finish: () => finished.abort(),
    get underWay() {
      return running.size;
    },
    get leftOut() {
      return leftOut;
    },
    get processed() {
      return jobs.reduce((sum, { processed }) => sum + processed, 0);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
