import { Piscina } from "piscina";
import type { Clock } from "./clock.ts";
import { AppError, type AppErrorOptions, type ErrorCode } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { Logger } from "./log.ts";

/** How a task ended that did not fail: an AppError would lose its class from thread to thread. */
export type TaskOutcome<T> = { value: T } | { refusal: PackedRefusal };

type PackedRefusal = { code: ErrorCode; detail: string } & Omit<AppErrorOptions, "cause">;

/** The thread's side: what `work` returns or refuses, as plain data. */
export async function outcomeOf<T>(work: () => T | Promise<T>): Promise<TaskOutcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message: detail, errors, candidates, retryAfterS, headers } = error;
    return {
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

/** What the thread's function is called with. */
export interface ThreadTask {
  task: string;
  input: unknown;
}

/** Who a task is for. */
export interface TaskOwner {
  teamId: string;
  /** The client has gone: a task whose turn has not come is not done any more. */
  isCancelled(): boolean;
}

/**
 * The thread of the API for what would hold up the event loop: one task at a time, in the order they came. It begins with the
 * first task, ends when none came for LIMITS.requestThread.idleMs, and is begun anew after it died.
 */
export interface RequestThread {
  /**
   * @param task one of workers/request.ts
   * @param transfer what of `input` is given away
   * @throws AppError `overloaded` when too many tasks wait, in all or of the team; what the task throws; Error when the
   *   thread died of it, or did not end it in time
   */
  run<T>(task: string, input: unknown, owner: TaskOwner, transfer?: readonly ArrayBuffer[]): Promise<T>;
  /** Ends the thread; what is under way fails. Idempotent. */
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
  tasksPerTeam: number;
  /** Of `tasks`, for teams that have none. */
  tasksKept: number;
  taskMs: number;
  idleMs: number;
  heapMb: number;
}

function beginPool(filename: string, { idleMs, heapMb }: RequestThreadLimits): Piscina {
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

/** Counts the tasks that wait or are under way. */
function createPlaces({ tasks, tasksPerTeam, tasksKept }: RequestThreadLimits) {
  const byTeam = new Map<string, number>();
  let all = 0;
  return {
    /** @throws AppError `overloaded` */
    take(teamId: string): void {
      const own = byTeam.get(teamId) ?? 0;
      // Few teams that send all they may do not keep the others out.
      if (all >= (own === 0 ? tasks : tasks - tasksKept) || own >= tasksPerTeam)
        throw new AppError("overloaded", "Too many large requests are in progress. Retry after 1 s.", {
          retryAfterS: 1,
        });
      byTeam.set(teamId, own + 1);
      all += 1;
    },
    giveBack(teamId: string): void {
      const own = (byTeam.get(teamId) ?? 0) - 1;
      if (own > 0) byTeam.set(teamId, own);
      else byTeam.delete(teamId);
      all -= 1;
    },
  };
}

export function createRequestThread(deps: RequestThreadDeps): RequestThread {
  const { clock, log, file, limits = LIMITS.requestThread } = deps;
  const places = createPlaces(limits);
  let pool: Piscina | null = null;
  let closed = false;
  /** Ends with the last task that came. */
  let last: Promise<unknown> = Promise.resolve();

  /** The next task begins another. */
  function drop(failed: Piscina): void {
    if (pool === failed) pool = null;
    failed.destroy().catch(() => undefined);
  }

  function begin(): Piscina {
    const begun = beginPool(file, limits);
    // A thread that fails while it loads: Piscina begins no other then, and its task would wait for ever.
    begun.on("error", (error) => {
      log.error({ err: error }, "the request thread failed");
      drop(begun);
    });
    return begun;
  }

  function inTime<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = clock.after(limits.taskMs, () => reject(new Error("the task took too long")));
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  async function runNow(task: string, input: unknown, transfer: readonly ArrayBuffer[]): Promise<unknown> {
    if (closed) throw new AppError("unavailable", "This process is shutting down.", { retryAfterS: 1 });
    pool ??= begin();
    const running = pool;
    let outcome: TaskOutcome<unknown>;
    try {
      outcome = await inTime(
        running.run({ task, input } satisfies ThreadTask, { transferList: [...transfer] }),
      );
    } catch (cause) {
      drop(running);
      throw new Error(`the request thread failed at ${task}`, { cause });
    }
    if ("value" in outcome) return outcome.value;
    const { code, detail, ...options } = outcome.refusal;
    throw new AppError(code, detail, options);
  }

  return {
    async run<T>(task: string, input: unknown, owner: TaskOwner, transfer: readonly ArrayBuffer[] = []) {
      places.take(owner.teamId);
      const work = last.then(() => {
        if (owner.isCancelled()) throw new AppError("bad_request", "The client has gone.");
        return runNow(task, input, transfer);
      });
      last = work.catch(() => undefined);
      try {
        return (await work) as T;
      } finally {
        places.giveBack(owner.teamId);
      }
    },
    async close() {
      closed = true;
      await pool?.destroy();
    },
  };
}
