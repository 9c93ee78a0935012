import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { MissingObject } from "../store/job-objects.ts";
import type { JobStream } from "../store/job-stream.ts";
import { beginTask, deliveriesOf, forgiveDelivery, type Task, type TaskPointer } from "../store/job-tasks.ts";
import { type AssemblyDeps, runAssembly } from "./assembly.ts";
import { type ChunkDeps, runChunk } from "./chunk.ts";
import { ask, type Control, Interruption } from "./control.ts";
import { createTurns } from "./turns.ts";

export interface TaskDeps extends ChunkDeps, AssemblyDeps {
  clock: Clock;
  log: Logger;
  stream: Pick<JobStream, "bury">;
}

/**
 * Works on tasks, each until nothing of it is left to do.
 *
 * A dependency that is away is waited for, however long it takes, and costs the task nothing. A task that fails by itself,
 * or takes its process with it, is tried LIMITS.bulk.deliveries times, after longer and longer waits. Then a chunk is given
 * up: its rows are answered `unknown`, `internal_error`, and the job goes on. Where that cannot be done either, or it is the
 * assembly, the job fails; so it does, sooner, when an object is gone.
 *
 * When a process ends, what it had in hand counts one delivery each, and only one of them was to blame. So from
 * LIMITS.bulk.aloneFrom on a task is worked on alone in its process: then only the culprit's deliveries climb.
 */
export interface TaskRunner {
  /** True: there is nothing left to do, its entries may go. False: it was cancelled, and is somebody else's to do. Never rejects. */
  run(pointer: TaskPointer, control: Control): Promise<boolean>;
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

export function createTaskRunner(deps: TaskDeps): TaskRunner {
  const { sql, clock, log } = deps;
  const turns = createTurns();

  function fail(task: Task, code: string, detail: string): Promise<unknown> {
    const ending = { status: "failed", code, detail } as const;
    return ask(() => sql.begin((tx) => deps.endings.end(tx, task.teamId, task.jobId, ending)));
  }

  async function giveUp(task: Task, control: Control): Promise<void> {
    const { jobId: job, number, deliveries } = task;
    log.error({ job, number, deliveries }, "a task of a job is given up");
    // For the operator's eyes, as the log is.
    await deps.stream.bury(task, deliveries).catch((error: unknown) => {
      log.warn({ err: error, job, number }, "a task that was given up is not noted in Redis");
    });
    const failure = "The job could not be brought to its end. It costs nothing.";
    if (task.kind === "assembly") return void (await fail(task, "internal_error", failure));
    try {
      await runChunk(deps, task, control, true);
    } catch (error) {
      if (error instanceof Interruption || error instanceof MissingObject) throw error;
      log.error({ err: error, job, number }, "a chunk cannot even be given up");
      await fail(task, "internal_error", failure);
    }
  }

  async function perform(task: Task, control: Control): Promise<void> {
    try {
      if (task.deliveries > LIMITS.bulk.deliveries) await giveUp(task, control);
      else if (task.kind === "chunk") await runChunk(deps, task, control, false);
      else await runAssembly(deps, task, control);
    } catch (error) {
      if (!(error instanceof MissingObject) || task.deliveries < LIMITS.bulk.missingTries) throw error;
      log.error({ job: task.jobId, number: task.number }, "an object of a job is gone");
      await fail(
        task,
        "objects_missing",
        "Objects of the job were removed from object storage. It costs nothing.",
      );
    }
  }

  async function attemptInTurn(pointer: TaskPointer, control: Control): Promise<Outcome> {
    let begun = false;
    try {
      const task = await ask(() => beginTask(sql, pointer));
      if (task === null) return "done";
      begun = true;
      await perform(task, control);
      return "done";
    } catch (error) {
      const { jobId: job, number } = pointer;
      if (!(error instanceof Interruption)) {
        log.error({ err: error, job, number }, "a task of a job failed");
        return "failed";
      }
      if (!control.cancelled()) log.warn({ err: error.cause, job, number }, "a task of a job has to wait");
      if (begun) await forgiveDelivery(sql, pointer).catch(() => undefined);
      return "interrupted";
    }
  }

  async function attempt(pointer: TaskPointer, control: Control): Promise<Outcome> {
    // What cannot be asked now cannot be begun either.
    const deliveries = await deliveriesOf(sql, pointer).catch(() => 0);
    const endTurn = await turns.take(deliveries + 1 >= LIMITS.bulk.aloneFrom);
    try {
      return control.cancelled() ? "interrupted" : await attemptInTurn(pointer, control);
    } finally {
      endTurn();
    }
  }

  return {
    async run(pointer, control) {
      let failures = 0;
      while (!control.cancelled()) {
        const outcome = await attempt(pointer, control);
        if (outcome === "done") return true;
        failures = outcome === "failed" ? failures + 1 : 0;
        await pause(clock, delayMs(failures), control);
      }
      return false;
    },
  };
}
