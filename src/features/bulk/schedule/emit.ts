import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { clearTasks, jobsWithTasksLeft, noteTasksCleared } from "../jobs/job-clearing.ts";
import {
  type EmittedTask,
  emittedTasks,
  type MarkedTask,
  makeReadyAgain,
  takeReadyTasks,
} from "./job-emission.ts";
import {
  egressesWithEmitted,
  egressesWithRetries,
  type RetryQueue,
  releaseEgress,
  takeReadyRetries,
} from "./job-retries.ts";
import type { JobStream, JobStreams } from "./job-stream.ts";
import { pointerKey } from "./job-stream.ts";
import { jobsToAssemble, startAssembly, type TaskPointer } from "./job-tasks.ts";

/**
 * Emits tasks from Postgres, which has their true state, into the streams that workers read.
 *
 * A task is marked as emitted, the mark is committed, and then the task is put into its stream. So no lock of Postgres
 * waits for Redis. If Redis fails, the task is made ready again. Tasks lost in between, by a killed process, or later in
 * Redis, are found by comparing the two. So a task is emitted at least once in any case, and done once; a second entry
 * costs only a second look.
 *
 * Retries go to the workers of their egress, since a mail server remembers the address that probed it before. If an egress
 * has had no worker for LIMITS.bulk.egressGoneMs, its retries go to any worker: a probe from another egress is better than
 * none.
 */
export interface Emitter {
  /** Fills the windows of the jobs under way. How many tasks were emitted. Rejects without Redis. */
  emitTasks(): Promise<number>;
  /** Fills the windows of the sites whose retries are due. How many were emitted. Rejects without Redis. */
  emitRetries(): Promise<number>;
  /**
   * Milliseconds that a worker should wait between two requests to emit retries. An emission is six round trips an egress,
   * and serves the workers of all egresses with retries. So with more workers each needs to request less often.
   */
  retryRestMs(): number;
  /** Both at once, neither behind the other: when one fails, it rejects when the other is over. */
  emit(): Promise<number>;
  /**
   * Makes tasks ready again that the streams have lost, starts assemblies that no worker started, and deletes tasks of
   * ended jobs.
   */
  reconcile(isStopping: () => boolean): Promise<void>;
}

export interface EmitterDeps {
  sql: Database;
  streams: Pick<JobStreams, "tasks" | "whole" | "retries">;
  clock: Pick<Clock, "monotonic">;
}

const { emitJobs, reconcilePage, reconcilePages, jobsPerRound, leaseMs } = LIMITS.bulk;

/** Consumers of streams, counted again when a count is LIMITS.bulk.workersFreshMs old. */
class WorkerCounts {
  readonly #clock: EmitterDeps["clock"];
  readonly #counts = new Map<string, { count: number; atMs: number }>();

  constructor(clock: EmitterDeps["clock"]) {
    this.#clock = clock;
  }

  async of(name: string, stream: Pick<JobStream, "countConsumers">): Promise<number> {
    const nowMs = this.#clock.monotonic();
    const known = this.#counts.get(name);
    if (known !== undefined && nowMs - known.atMs < LIMITS.bulk.workersFreshMs) return known.count;
    const count = await stream.countConsumers(leaseMs);
    for (const [other, { atMs }] of this.#counts) if (nowMs - atMs >= leaseMs) this.#counts.delete(other);
    this.#counts.set(name, { count, atMs: nowMs });
    return count;
  }
}

/** Repairs the state after an emission or a worker that died. */
class Reconciler {
  readonly #deps: EmitterDeps;
  /** Emitted tasks that no stream had at the last look, and when they were emitted. */
  #missing: ReadonlyMap<string, string> = new Map();
  /** Egresses without a worker, and since when. */
  readonly #gone = new Map<string, number>();

  constructor(deps: EmitterDeps) {
    this.#deps = deps;
  }

  async reconcile(isStopping: () => boolean): Promise<void> {
    await this.#findLost(isStopping);
    await this.#lookAfterEgresses();
    for (const jobId of await jobsToAssemble(this.#deps.sql, jobsPerRound))
      await startAssembly(this.#deps.sql, jobId);
    await this.#clearEnded(isStopping);
  }

  /** Emitted tasks, as many as the streams are read for. */
  async #readEmitted(isStopping: () => boolean): Promise<EmittedTask[]> {
    const emitted: EmittedTask[] = [];
    let after: TaskPointer | null = null;
    for (let page = 0; page < reconcilePages && !isStopping(); page++) {
      const tasks: EmittedTask[] = await emittedTasks(this.#deps.sql, after, reconcilePage);
      emitted.push(...tasks);
      const last = tasks.at(-1);
      if (last === undefined || tasks.length < reconcilePage) break;
      after = last;
    }
    return emitted;
  }

  /** Tasks of one stream that are missing there. */
  async #lostOf(stream: JobStream, emitted: readonly EmittedTask[]): Promise<EmittedTask[]> {
    if (emitted.length === 0) return [];
    const outstanding = await stream.outstanding(reconcilePage, reconcilePages);
    return outstanding === null ? [] : emitted.filter((task) => !outstanding.has(pointerKey(task)));
  }

  /** Tasks of `absent` that were missing at the last look too. Others may be marked as emitted, but not in the stream yet. */
  #stillAbsent(absent: readonly EmittedTask[]): EmittedTask[] {
    const before = this.#missing;
    this.#missing = new Map(absent.map((task) => [pointerKey(task), task.emittedAt]));
    return absent.filter((task) => before.get(pointerKey(task)) === task.emittedAt);
  }

  async #findLost(isStopping: () => boolean): Promise<void> {
    // First Postgres, then the stream: a task leaves that when it is done.
    const emitted = await this.#readEmitted(isStopping);
    const egresses = new Set(emitted.flatMap(({ egress }) => (egress === null ? [] : [egress])));
    const others = emitted.filter(({ egress }) => egress === null);
    const byStream: [JobStream, EmittedTask[]][] = [
      [this.#deps.streams.tasks, others.filter(({ whole }) => !whole)],
      [this.#deps.streams.whole, others.filter(({ whole }) => whole)],
      ...[...egresses].map((egress): [JobStream, EmittedTask[]] => [
        this.#deps.streams.retries(egress),
        emitted.filter((task) => task.egress === egress),
      ]),
    ];
    const absent: EmittedTask[] = [];
    for (const [stream, tasks] of byStream) {
      if (isStopping()) return;
      absent.push(...(await this.#lostOf(stream, tasks)));
    }
    const lost = this.#stillAbsent(absent);
    for (let i = 0; i < lost.length; i += reconcilePage)
      await makeReadyAgain(this.#deps.sql, lost.slice(i, i + reconcilePage));
  }

  async #lookAfterEgress(egress: string): Promise<void> {
    const { egressGoneMs, egressTasksPerRound } = LIMITS.bulk;
    const stream = this.#deps.streams.retries(egress);
    const nowMs = this.#deps.clock.monotonic();
    if ((await stream.countConsumers(leaseMs)) > 0) return void this.#gone.delete(egress);
    const sinceMs = this.#gone.get(egress) ?? nowMs;
    this.#gone.set(egress, sinceMs);
    if (nowMs - sinceMs < egressGoneMs) return;
    if ((await releaseEgress(this.#deps.sql, egress, egressTasksPerRound)) > 0) return;
    this.#gone.delete(egress);
    await stream.drop();
  }

  async #lookAfterEgresses(): Promise<void> {
    const waiting = await egressesWithRetries(this.#deps.sql, null, LIMITS.bulk.egresses);
    const known = new Set([...waiting, ...(await egressesWithEmitted(this.#deps.sql)), ...this.#gone.keys()]);
    known.delete("");
    for (const egress of known) await this.#lookAfterEgress(egress);
  }

  async #clearEnded(isStopping: () => boolean): Promise<void> {
    for (const jobId of await jobsWithTasksLeft(this.#deps.sql, jobsPerRound)) {
      while (!(await clearTasks(this.#deps.sql, jobId))) if (isStopping()) return;
      await noteTasksCleared(this.#deps.sql, jobId);
    }
  }
}

class StreamEmitter implements Emitter {
  readonly #deps: EmitterDeps;
  readonly #workers: WorkerCounts;
  readonly #reconciler: Reconciler;
  /** The retry queue at which the next look at an egress continues. */
  readonly #lastQueues = new Map<string, RetryQueue>();
  #nextEgress: string | null = null;
  /** Workers that the last emission of retries served. */
  #retryWorkers = 1;

  constructor(deps: EmitterDeps) {
    this.#deps = deps;
    this.#workers = new WorkerCounts(deps.clock);
    this.#reconciler = new Reconciler(deps);
  }

  async emitTasks(): Promise<number> {
    const { windowMin, windowMax, shareWindows, shareWhole, tasksAtOnce } = LIMITS.bulk;
    const places = (await this.#workers.of("tasks", this.#deps.streams.tasks)) * tasksAtOnce;
    const window = Math.min(windowMax, Math.max(windowMin, 2 * places));
    const bounds = { window, shareWindow: shareWindows * window, shareWhole, jobs: emitJobs };
    const tasks = await this.#deps.sql.begin((tx) => takeReadyTasks(tx, bounds));
    await this.#put(
      this.#deps.streams.whole,
      tasks.filter(({ whole }) => whole),
    );
    await this.#put(
      this.#deps.streams.tasks,
      tasks.filter(({ whole }) => !whole),
    );
    return tasks.length;
  }

  async emitRetries(): Promise<number> {
    const egresses = await egressesWithRetries(this.#deps.sql, this.#nextEgress, LIMITS.bulk.egresses);
    this.#nextEgress = egresses.length < LIMITS.bulk.egresses ? null : (egresses.at(-1) ?? null);
    let emitted = 0;
    let named = 0;
    let all = 0;
    for (const egress of egresses) {
      const count = await this.#workers.of(`retries ${egress}`, this.#deps.streams.retries(egress));
      // A worker serves its own egress, and the retries without an egress.
      if (egress === "") all = count;
      else named += count;
      emitted += await this.#emitRetriesOf(egress, count);
    }
    this.#retryWorkers = Math.max(1, named, all);
    return emitted;
  }

  retryRestMs(): number {
    return Math.min(LIMITS.bulk.emitEveryMs, LIMITS.bulk.emitRestMs * this.#retryWorkers);
  }

  async emit(): Promise<number> {
    const outcomes = await Promise.allSettled([this.emitTasks(), this.emitRetries()]);
    let emitted = 0;
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
      emitted += outcome.value;
    }
    return emitted;
  }

  reconcile(isStopping: () => boolean): Promise<void> {
    return this.#reconciler.reconcile(isStopping);
  }

  /** Puts marked tasks into their stream; where that fails they are ready again, or are found missing there later. */
  async #put(stream: Pick<JobStream, "add">, tasks: readonly MarkedTask[]): Promise<void> {
    try {
      await stream.add(tasks);
    } catch (error) {
      await makeReadyAgain(this.#deps.sql, tasks).catch(() => undefined);
      throw error;
    }
  }

  async #emitRetriesOf(egress: string, count: number): Promise<number> {
    if (count === 0) return 0;
    const stream = this.#deps.streams.retries(egress);
    const { retryWindow, mixedWindow, retryWindows, retriesAtOnce, retryQueues } = LIMITS.bulk;
    const bounds = {
      window: Math.max(retryWindow, 2 * count),
      mixedWindow: Math.max(mixedWindow, 4 * count),
      total: retryWindows * retriesAtOnce * count,
      queues: retryQueues,
    };
    const after = this.#lastQueues.get(egress) ?? null;
    const { tasks, last } = await this.#deps.sql.begin((tx) => takeReadyRetries(tx, egress, bounds, after));
    await this.#put(stream, tasks);
    if (last === null) this.#lastQueues.delete(egress);
    else this.#lastQueues.set(egress, last);
    return tasks.length;
  }
}

export function createEmitter(deps: EmitterDeps): Emitter {
  return new StreamEmitter(deps);
}
