import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import { LIMITS } from "../config/limits/limits.ts";
import { AppError, type AppErrorOptions, type ErrorCode } from "./errors.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { Logger } from "./log.ts";
import { createTeamSlots, type TeamSlots } from "./team-slots.ts";
import type { Clock } from "./time/clock.ts";
import { createDailyTime } from "./time/daily-time.ts";

/** The outcome of a task that did not crash: an AppError would lose its class between threads. `tookMs`: of its work alone. */
export type TaskOutcome<T> = ({ value: T } | { refusal: PackedRefusal }) & { tookMs: number };

type PackedRefusal = { code: ErrorCode; detail: string } & Omit<AppErrorOptions, "cause">;

/** The thread's side: the result or refusal of `work`, as plain data. */
export async function captureOutcome<T>(
  work: () => T | Promise<T>,
  clock: Pick<Clock, "monotonic">,
): Promise<TaskOutcome<T>> {
  const startedMs = clock.monotonic();
  const tookMs = () => clock.monotonic() - startedMs;
  try {
    const value = await work();
    return { value, tookMs: tookMs() };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message: detail, errors, candidates, retryAfterS, headers } = error;
    return {
      tookMs: tookMs(),
      refusal: {
        code,
        detail,
        ...(errors === undefined ? {} : { errors }),
        ...(candidates === undefined ? {} : { candidates }),
        ...(retryAfterS === undefined ? {} : { retryAfterS }),
        ...(headers === undefined ? {} : { headers }),
      },
    };
  }
}

/** The argument of the thread's function. */
export interface ThreadTask {
  task: string;
  input: unknown;
}

type Sendable = ArrayBuffer | MessagePort;

/** The request that a task is for. */
export interface TaskOwner {
  /** Whose slots and turns it uses: see `shareKey`. */
  share: string;
  /** True when the client has disconnected: a task that has not started is skipped. */
  isCancelled(): boolean;
}

/**
 * The API's thread for work that would block the event loop: one task at a time, next that of the share (`shareKey`) served
 * longest ago. It starts with the first task, ends after LIMITS.requestThread.idleMs without one, and is restarted after it
 * died.
 */
export interface RequestThread {
  /**
   * @param task name of a function in workers/request.ts
   * @param transfer parts of `input` whose ownership is transferred
   * @throws AppError `overloaded` when too many tasks wait, in all or of the share; `limit_reached` when those of the share have
   *   taken its time of the day; errors of the task; Error when the thread died during the task, or the task took too long
   */
  run<T>(task: string, input: unknown, owner: TaskOwner, transfer?: readonly Sendable[]): Promise<T>;
  /** Before the input of a task is received. @throws AppError `limit_reached` as `run` does */
  requireTime(share: string): void;
  /** Ends the thread; tasks in progress fail. Idempotent. */
  close(): Promise<void>;
}

export interface RequestThreadDeps {
  clock: Clock;
  log: Logger;
  /** The thread's module. */
  file: string;
  limits?: RequestThreadLimits;
}

export interface RequestThreadLimits {
  tasks: number;
  tasksPerShare: number;
  /** The part of `tasks` reserved for shares that have none. */
  tasksKept: number;
  taskMs: number;
  idleMs: number;
  heapMb: number;
  /** Time that tasks of one share may take on a UTC day; absent: any. */
  shareMsPerDay?: number;
}

function createPool(filename: string, { idleMs, heapMb }: RequestThreadLimits): Piscina {
  return new Piscina({
    filename,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    atomics: "disabled",
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
}

/** Of waiting and running tasks. */
function createTaskSlots({ tasks, tasksPerShare, tasksKept }: RequestThreadLimits): TeamSlots {
  return createTeamSlots(
    { all: tasks, perShare: tasksPerShare, kept: tasksKept },
    () =>
      new AppError("overloaded", "Too many large requests are in progress. Retry after 1 s.", {
        retryAfterS: 1,
      }),
  );
}

/** Runs tasks in a thread that starts with the first of them. */
interface TaskRunner {
  run(task: string, input: unknown, transfer: readonly Sendable[]): Promise<TaskOutcome<unknown>>;
  close(): Promise<void>;
}

function createTaskRunner({ clock, log, file }: RequestThreadDeps, limits: RequestThreadLimits): TaskRunner {
  let pool: Piscina | null = null;
  let closed = false;

  /** The next task starts another thread. */
  function drop(failed: Piscina): void {
    if (pool === failed) pool = null;
    failed.destroy().catch(() => undefined);
  }

  function startPool(): Piscina {
    const started = createPool(file, limits);
    // A thread that fails while it loads: Piscina starts no other then, and its task would wait for ever.
    started.on("error", (error) => {
      log.error({ err: error }, "the request thread failed");
      drop(started);
    });
    return started;
  }

  function inTime<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = clock.after(limits.taskMs, () => reject(new Error("the task took too long")));
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  return {
    async run(task, input, transfer) {
      if (closed) throw new AppError("unavailable", "This process is shutting down.", { retryAfterS: 1 });
      pool ??= startPool();
      const running = pool;
      try {
        return await inTime(
          running.run({ task, input } satisfies ThreadTask, { transferList: [...transfer] }),
        );
      } catch (cause) {
        drop(running);
        throw new Error(`the request thread failed at ${task}`, { cause });
      }
    },
    async close() {
      closed = true;
      await pool?.destroy();
    },
  };
}

/** @throws AppError the refusal */
function resultOf(outcome: TaskOutcome<unknown>): unknown {
  if ("value" in outcome) return outcome.value;
  const { code, detail, ...options } = outcome.refusal;
  throw new AppError(code, detail, options);
}

export function createRequestThread(deps: RequestThreadDeps): RequestThread {
  const limits: RequestThreadLimits = deps.limits ?? LIMITS.requestThread;
  const { shareMsPerDay = Number.POSITIVE_INFINITY } = limits;
  const slots = createTaskSlots(limits);
  const queue = createFairQueue();
  const runner = createTaskRunner(deps, limits);
  const taken = createDailyTime(deps.clock);

  function requireTime(share: string): void {
    if (taken.usedMs(share) < shareMsPerDay) return;
    throw new AppError(
      "limit_reached",
      `What the team sent today took ${shareMsPerDay / 1_000} s to read, as long as it may. Send the rest tomorrow.`,
    );
  }

  /** Charges what the thread measured: not its start. A task that has no outcome, since it was given up, all its time. */
  async function runTimed(share: string, run: () => Promise<TaskOutcome<unknown>>): Promise<unknown> {
    requireTime(share);
    const startedMs = deps.clock.monotonic();
    let tookMs: number | null = null;
    try {
      const outcome = await run();
      tookMs = outcome.tookMs;
      return resultOf(outcome);
    } finally {
      taken.add(share, tookMs ?? deps.clock.monotonic() - startedMs);
    }
  }

  return {
    async run<T>(task: string, input: unknown, owner: TaskOwner, transfer: readonly Sendable[] = []) {
      const { share } = owner;
      requireTime(share);
      const giveBack = slots.take(share);
      try {
        return await queue.run(share, async () => {
          if (owner.isCancelled()) throw new AppError("bad_request", "The client has gone.");
          return (await runTimed(share, () => runner.run(task, input, transfer))) as T;
        });
      } finally {
        giveBack();
      }
    },
    requireTime,
    close: () => runner.close(),
  };
}
