import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Tracer } from "../../../platform/telemetry/tracing.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
import { createAuthChanges } from "../../auth/auth-changes.ts";
import { createOverlays } from "../../auth/overlays.ts";
import { createTeamDomains } from "../../auth/team-domains.ts";
import type { JobProblem } from "../analysis/layout.ts";
import { type AssemblyDeps, runAssembly } from "../results/assembly.ts";
import type { JobStreams } from "../schedule/job-stream.ts";
import {
  countDeliveries,
  forgiveDelivery,
  startTask,
  type Task,
  type TaskPointer,
} from "../schedule/job-tasks.ts";
import { type AnalysisDeps, runAnalysis } from "./analysis-task.ts";
import { type ChunkDeps, runRows } from "./chunk.ts";
import { type Control, Interruption, interruptOnOutage } from "./control.ts";
import { watchForeignSources } from "./foreign-sources.ts";
import { lossOf } from "./losses.ts";
import { createRecentReads, withRecentReads } from "./recent-reads.ts";
import { createSharedExclusiveLock } from "./shared-exclusive-lock.ts";
import { type ReportedOutcome, startReport, type TaskReport } from "./task-report.ts";

export type BulkTaskDeps = AnalysisDeps &
  Omit<ChunkDeps, "overlayOf"> &
  AssemblyDeps & {
    clock: Clock;
    log: Logger;
    deadLetters: Pick<JobStreams, "bury">;
    /** null: nothing is traced. */
    tracer: Tracer | null;
    /** Told how an attempt at a task ended that was not interrupted; what has to wait, or is handed back, has not ended. */
    onEnd(kind: Task["kind"], end: TaskEnd, seconds: number): void;
  };

/** `failed`: by itself, and is tried again, or for good over an object that is lost. `dead`: given up. */
type TaskEnd = "done" | "failed" | "dead";

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
export interface BulkTaskRunner {
  /**
   * True: there is nothing left to do, its entries may go. False: it was cancelled, or interrupted so often in a row that
   * another worker may fare better. Never rejects.
   */
  run(pointer: TaskPointer, control: Control): Promise<boolean>;
  /** null: tasks may come. Else one is alone, or waits to be, and what came now would wait behind it: until this resolves. */
  whenOpen(): Promise<void> | null;
}

/** How it went with a task in this worker. */
interface AttemptHistory {
  /** By itself, in a row. */
  failures: number;
  /** In a row. */
  interruptions: number;
  /** An object was not there. */
  missingObjects: number;
}

/** `failed`: by itself, and that counts. `interrupted`: it is not to blame. */
type Outcome = "done" | "failed" | "interrupted";

/** One attempt at a task. */
interface Attempt {
  control: Control;
  report: TaskReport;
}

const LOG_LINES: Record<ReportedOutcome, { level: "debug" | "info" | "warn" | "error"; message: string }> = {
  done: { level: "info", message: "a task of a job is done" },
  failed: { level: "error", message: "a task of a job failed" },
  dead: { level: "error", message: "a task of a job is given up" },
  waits: { level: "warn", message: "a task of a job has to wait" },
  cancelled: { level: "debug", message: "a task of a job is not wanted here any more" },
};

function outcomeOfError(error: unknown, control: Control): "failed" | "waits" | "cancelled" {
  if (!(error instanceof Interruption)) return "failed";
  return control.cancelled() ? "cancelled" : "waits";
}

/** @param failures of the task itself, in a row: none when it waits for a dependency */
function delayMs(failures: number): number {
  const { retryMs, retryMaxMs } = LIMITS.bulk;
  return Math.min(retryMaxMs, retryMs * 2 ** Math.max(0, failures - 1));
}

export function createBulkTaskRunner(parts: BulkTaskDeps): BulkTaskRunner {
  const { sql, clock, log } = parts;
  const streams = { ...parts.streams, ...watchForeignSources(parts.streams, clock) };
  const lists = { changes: createAuthChanges(sql), domains: createTeamDomains(sql), clock, log };
  const deps = { ...parts, streams, overlayOf: createOverlays(lists) };
  const retryDeps = withRecentReads(createRecentReads(clock), deps);
  const lock = createSharedExclusiveLock();

  function fail(task: Task, problem: JobProblem & { charges: boolean }): Promise<unknown> {
    const { code, detail, charges } = problem;
    const ending = { status: "failed", code, detail, charges } as const;
    return interruptOnOutage(() => deps.endings.endAlone(sql, task.teamId, task.jobId, ending));
  }

  async function giveUp(task: Task, attempt: Attempt): Promise<void> {
    const { jobId: job, number, deliveries } = task;
    // For the operator's eyes, as the log is.
    await deps.deadLetters.bury(task, deliveries).catch((error: unknown) => {
      log.warn({ err: error, job, number }, "a task that was given up is not noted in Redis");
    });
    const detail = "The job could not be brought to its end. It costs nothing.";
    const failure = { code: "internal_error", detail, charges: false } as const;
    if (task.kind === "analysis" || task.kind === "assembly") return void (await fail(task, failure));
    try {
      await runRows(deps, task, attempt, true);
    } catch (error) {
      if (error instanceof Interruption || lossOf(error) !== null) throw error;
      log.error({ err: error, job, number }, "the rows of a task cannot even be given up");
      await fail(task, failure);
    }
  }

  function work(task: Task, attempt: Attempt): Promise<void> {
    switch (task.kind) {
      case "analysis":
        return runAnalysis(deps, task, attempt);
      case "assembly":
        return runAssembly(deps, task, attempt);
      default:
        return runRows(task.kind === "retry" ? retryDeps : deps, task, attempt, false);
    }
  }

  async function perform(task: Task, attempt: Attempt, history: AttemptHistory): Promise<TaskEnd> {
    try {
      if (task.deliveries > LIMITS.bulk.deliveries) {
        await giveUp(task, attempt);
        return "dead";
      }
      await work(task, attempt);
      return "done";
    } catch (error) {
      const loss = lossOf(error);
      if (loss === null) throw error;
      history.missingObjects += 1;
      if (loss.mayPass && history.missingObjects < LIMITS.bulk.missingTries) throw error;
      attempt.report.add({ code: loss.code });
      await fail(task, loss);
      return "failed";
    }
  }

  /** @returns null: as `startTask` has it */
  async function startAndAttempt(
    pointer: TaskPointer,
    { control, below }: { control: Control; below: number | null },
    history: AttemptHistory,
  ): Promise<Outcome | null> {
    let task: Task | null;
    try {
      task = await interruptOnOutage(() => startTask(sql, pointer, below));
    } catch (error) {
      const end = outcomeOfError(error, control);
      write(end, { job: pointer.jobId, number: pointer.number }, error);
      return end === "failed" ? "failed" : "interrupted";
    }
    return task === null ? null : attemptTask(task, control, history);
  }

  async function attemptTask(task: Task, control: Control, history: AttemptHistory): Promise<Outcome> {
    const report = startReport(task, clock, parts.tracer);
    const beganMs = clock.monotonic();
    const tell = (end: TaskEnd) => parts.onEnd(task.kind, end, (clock.monotonic() - beganMs) / 1_000);
    try {
      const end = await perform(task, { control, report }, history);
      tell(end);
      write(end, report.end(end));
      return "done";
    } catch (error) {
      const end = outcomeOfError(error, control);
      write(end, report.end(end), error);
      if (end === "failed") {
        tell(end);
        return end;
      }
      await forgiveDelivery(sql, task).catch(() => undefined);
      return "interrupted";
    }
  }

  /** The one line of an attempt. */
  function write(end: ReportedOutcome, line: Record<string, unknown>, error?: unknown): void {
    const { level, message } = LOG_LINES[end];
    if (error === undefined) log[level](line, message);
    else log[level]({ ...line, err: error instanceof Interruption ? error.cause : error }, message);
  }

  async function withLock(
    pointer: TaskPointer,
    given: { control: Control; alone: boolean; below: number | null },
    history: AttemptHistory,
  ): Promise<Outcome | null> {
    const release = await lock.acquire(given.alone);
    try {
      return given.control.cancelled() ? "interrupted" : await startAndAttempt(pointer, given, history);
    } finally {
      release();
    }
  }

  async function attempt(pointer: TaskPointer, control: Control, history: AttemptHistory): Promise<Outcome> {
    // Nearly all are begun for the first time: only of others is asked how often, before they have their turn.
    const below = LIMITS.bulk.aloneFrom - 1;
    const outcome = await withLock(pointer, { control, alone: false, below }, history);
    if (outcome !== null) return outcome;
    // What cannot be asked now cannot be begun either.
    const deliveries = await countDeliveries(sql, pointer).catch(() => 0);
    const alone = deliveries + 1 >= LIMITS.bulk.aloneFrom;
    return (await withLock(pointer, { control, alone, below: null }, history)) ?? "done";
  }

  return {
    async run(pointer, control) {
      const history: AttemptHistory = { failures: 0, interruptions: 0, missingObjects: 0 };
      while (!control.cancelled()) {
        const outcome = await attempt(pointer, control, history);
        if (outcome === "done") return true;
        history.failures = outcome === "failed" ? history.failures + 1 : 0;
        history.interruptions = outcome === "interrupted" ? history.interruptions + 1 : 0;
        if (history.interruptions >= LIMITS.bulk.interruptions) return false;
        await pause(clock, delayMs(history.failures), control.signal);
      }
      return false;
    },
    whenOpen: lock.whenOpen,
  };
}
