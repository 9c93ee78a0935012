import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { createOverlays } from "../services/authenticate/overlays.ts";
import type { JobProblem } from "../services/bulk/layout.ts";
import type { JobStreams } from "../store/job-stream.ts";
import {
  beginTask,
  type ChunkTask,
  deliveriesOf,
  forgiveDelivery,
  type RetryTask,
  type Task,
  type TaskPointer,
} from "../store/job-tasks.ts";
import { type AnalysisDeps, runAnalysis } from "./analysis.ts";
import { type AssemblyDeps, runAssembly } from "./assembly.ts";
import { type ChunkDeps, runRows } from "./chunk.ts";
import { ask, type Control, Interruption } from "./control.ts";
import { watchForeign } from "./foreign-sources.ts";
import { lossOf } from "./losses.ts";
import { createTurns } from "./turns.ts";

export type TaskDeps = AnalysisDeps &
  Omit<ChunkDeps, "overlayOf"> &
  AssemblyDeps & {
    clock: Clock;
    log: Logger;
    dead: Pick<JobStreams, "bury">;
    /** Told how an attempt at a task ended that was not interrupted; what has to wait, or is handed back, has not ended. */
    onEnd(kind: Task["kind"], end: TaskEnd, seconds: number): void;
  };

/** `failed`: by itself, and is tried again, or for good over an object that is lost. `dead`: given up. */
export type TaskEnd = "done" | "failed" | "dead";

/**
 * Works on tasks, each until nothing of it is left to do.
 *
 * A dependency that is away is waited for, however long it takes, and costs the task nothing (but somebody else's bucket has
 * an end: foreign-sources.ts); after LIMITS.bulk.interruptions
 * in a row it is for another worker to try, since it may be this one's disk or network. A task that fails by itself,
 * or takes its process with it, is tried LIMITS.bulk.deliveries times, after longer and longer waits. Then a chunk or a
 * retry is given up: its rows are answered `unknown`, `internal_error`, and the job goes on. Where that cannot be done
 * either, or it is the analysis or the assembly, the job fails; so it does, sooner, when the list or an object is lost.
 *
 * When a process ends, what it had in hand counts one delivery each, and only one of them was to blame. So from
 * LIMITS.bulk.aloneFrom on a task is worked on alone in its process: then only the culprit's deliveries climb.
 */
export interface TaskRunner {
  /**
   * True: there is nothing left to do, its entries may go. False: it was cancelled, or interrupted so often in a row that
   * another worker may fare better, and is somebody else's to do. Never rejects.
   */
  run(pointer: TaskPointer, control: Control): Promise<boolean>;
  /** null: tasks may come. Else one is alone, or waits to be, and what came now would wait behind it: until this resolves. */
  opened(): Promise<void> | null;
}

/** How it went with a task in this worker. */
interface History {
  /** By itself, in a row. */
  failures: number;
  /** In a row. */
  interruptions: number;
  /** An object was not there. */
  misses: number;
}

/** `failed`: by itself, and that counts. `interrupted`: it is not to blame. */
type Outcome = "done" | "failed" | "interrupted";

/** Resolves after `delayMs`, or when the task is cancelled. */
function pause(clock: Clock, delayMs: number, { signal }: Control): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(delayMs, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/** @param failures of the task itself, in a row: none when it waits for a dependency */
function delayMs(failures: number): number {
  const { retryMs, retryMaxMs } = LIMITS.bulk;
  return Math.min(retryMaxMs, retryMs * 2 ** Math.max(0, failures - 1));
}

export function createTaskRunner(parts: TaskDeps): TaskRunner {
  const { sql, clock, log } = parts;
  const streams = { ...parts.streams, ...watchForeign(parts.streams, clock) };
  const deps = { ...parts, streams, overlayOf: createOverlays(parts) };
  const turns = createTurns();

  function fail(task: Task, problem: JobProblem & { charges: boolean }): Promise<unknown> {
    const { code, detail, charges } = problem;
    const ending = { status: "failed", code, detail, charges } as const;
    return ask(() => sql.begin((tx) => deps.endings.end(tx, task.teamId, task.jobId, ending)));
  }

  async function giveUp(task: Task, control: Control): Promise<void> {
    const { jobId: job, number, deliveries } = task;
    log.error({ job, number, deliveries }, "a task of a job is given up");
    // For the operator's eyes, as the log is.
    await deps.dead.bury(task, deliveries).catch((error: unknown) => {
      log.warn({ err: error, job, number }, "a task that was given up is not noted in Redis");
    });
    const detail = "The job could not be brought to its end. It costs nothing.";
    const failure = { code: "internal_error", detail, charges: false } as const;
    if (task.kind === "analysis" || task.kind === "assembly") return void (await fail(task, failure));
    try {
      await runRows(deps, task, control, true);
    } catch (error) {
      if (error instanceof Interruption || lossOf(error) !== null) throw error;
      log.error({ err: error, job, number }, "the rows of a task cannot even be given up");
      await fail(task, failure);
    }
  }

  async function workOnRows(task: ChunkTask | RetryTask, control: Control): Promise<void> {
    // One that may end its process is to blame alone: no join begins beside it.
    if (task.kind === "chunk" && task.deliveries === 1) deps.earlyJoins?.offer(task);
    await runRows(deps, task, control, false);
    deps.earlyJoins?.note(task.jobId);
  }

  function work(task: Task, control: Control): Promise<void> {
    switch (task.kind) {
      case "analysis":
        return runAnalysis(deps, task, control);
      case "assembly":
        return runAssembly(deps, task, control);
      default:
        return workOnRows(task, control);
    }
  }

  async function perform(task: Task, control: Control, history: History): Promise<TaskEnd> {
    try {
      if (task.deliveries > LIMITS.bulk.deliveries) {
        await giveUp(task, control);
        return "dead";
      }
      await work(task, control);
      return "done";
    } catch (error) {
      const loss = lossOf(error);
      if (loss === null) throw error;
      history.misses += 1;
      if (loss.mayPass && history.misses < LIMITS.bulk.missingTries) throw error;
      log.error({ job: task.jobId, number: task.number, code: loss.code }, "an object of a job is lost");
      await fail(task, loss);
      return "failed";
    }
  }

  async function attemptInTurn(pointer: TaskPointer, control: Control, history: History): Promise<Outcome> {
    let task: Task | null = null;
    const beganMs = clock.monotonic();
    const tell = (kind: Task["kind"], end: TaskEnd) =>
      parts.onEnd(kind, end, (clock.monotonic() - beganMs) / 1_000);
    try {
      task = await ask(() => beginTask(sql, pointer));
      if (task === null) return "done";
      tell(task.kind, await perform(task, control, history));
      return "done";
    } catch (error) {
      const { jobId: job, number } = pointer;
      if (!(error instanceof Interruption)) {
        if (task !== null) tell(task.kind, "failed");
        log.error({ err: error, job, number }, "a task of a job failed");
        return "failed";
      }
      if (!control.cancelled()) log.warn({ err: error.cause, job, number }, "a task of a job has to wait");
      if (task !== null) await forgiveDelivery(sql, pointer).catch(() => undefined);
      return "interrupted";
    }
  }

  async function attempt(pointer: TaskPointer, control: Control, history: History): Promise<Outcome> {
    // What cannot be asked now cannot be begun either.
    const deliveries = await deliveriesOf(sql, pointer).catch(() => 0);
    const endTurn = await turns.take(deliveries + 1 >= LIMITS.bulk.aloneFrom);
    try {
      return control.cancelled() ? "interrupted" : await attemptInTurn(pointer, control, history);
    } finally {
      endTurn();
    }
  }

  return {
    async run(pointer, control) {
      const history: History = { failures: 0, interruptions: 0, misses: 0 };
      while (!control.cancelled()) {
        const outcome = await attempt(pointer, control, history);
        if (outcome === "done") return true;
        history.failures = outcome === "failed" ? history.failures + 1 : 0;
        history.interruptions = outcome === "interrupted" ? history.interruptions + 1 : 0;
        if (history.interruptions >= LIMITS.bulk.interruptions) return false;
        await pause(clock, delayMs(history.failures), control);
      }
      return false;
    },
    opened: turns.opened,
  };
}
