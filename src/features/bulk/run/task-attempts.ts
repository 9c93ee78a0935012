import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Tracer } from "../../../platform/telemetry/tracing.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { createAuthChanges } from "../../auth/auth-changes.ts";
import { createOverlays } from "../../auth/overlays.ts";
import { createTeamDomains } from "../../auth/team-domains.ts";
import type { JobProblem } from "../analysis/layout.ts";
import { type AssemblyDeps, runAssembly } from "../results/assembly.ts";
import type { JobStreams } from "../schedule/job-stream.ts";
import { forgiveDelivery, startTask, type Task, type TaskPointer } from "../schedule/job-tasks.ts";
import { type AnalysisDeps, runAnalysis } from "./analysis-task.ts";
import { type ChunkDeps, runRows } from "./chunk.ts";
import { type Control, Interruption, interruptOnOutage } from "./control.ts";
import { watchForeignSources } from "./foreign-sources.ts";
import { lossOf } from "./losses.ts";
import { createRecentReads, withRecentReads } from "./recent-reads.ts";
import { type ReportedOutcome, startReport, type TaskReport } from "./task-report.ts";

export type BulkTaskDeps = AnalysisDeps &
  Omit<ChunkDeps, "overlayOf"> &
  AssemblyDeps & {
    clock: Clock;
    log: Logger;
    deadLetters: Pick<JobStreams, "bury">;
    /** null: nothing is traced. */
    tracer: Tracer | null;
    /**
     * Called with the end of each attempt at a task that was not interrupted. A task that has to wait, or is handed back,
     * has not ended.
     */
    onEnd(kind: Task["kind"], end: TaskEnd, seconds: number): void;
  };

/** `failed`: by itself, and is tried again, or for good over an object that is lost. `dead`: given up. */
type TaskEnd = "done" | "failed" | "dead";

/** History of a task in this worker. */
export interface AttemptHistory {
  /** Consecutive failures of the task itself. */
  failures: number;
  /** Consecutive interruptions. */
  interruptions: number;
  /** Number of times that an object was missing. */
  missingObjects: number;
}

/** `failed`: by itself, and that counts. `interrupted`: it is not to blame. */
export type Outcome = "done" | "failed" | "interrupted";

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

/** Attempts at tasks: each starts its task, does its work, and says how that ended. When to try again is the runner's. */
export class TaskAttempts {
  readonly #deps: BulkTaskDeps & ChunkDeps;
  readonly #retryDeps: BulkTaskDeps & ChunkDeps;

  constructor(deps: BulkTaskDeps) {
    const { sql, clock, log } = deps;
    const streams = { ...deps.streams, ...watchForeignSources(deps.streams, clock) };
    const lists = { changes: createAuthChanges(sql), domains: createTeamDomains(sql), clock, log };
    this.#deps = { ...deps, streams, overlayOf: createOverlays(lists) };
    this.#retryDeps = withRecentReads(createRecentReads(clock), this.#deps);
  }

  /**
   * Never rejects.
   * @param below see `startTask`
   * @returns null: as `startTask` has it
   */
  async make(
    pointer: TaskPointer,
    { control, below }: { control: Control; below: number | null },
    history: AttemptHistory,
  ): Promise<Outcome | null> {
    let task: Task | null;
    try {
      task = await interruptOnOutage(() => startTask(this.#deps.sql, pointer, below));
    } catch (error) {
      const end = outcomeOfError(error, control);
      this.#write(end, { job: pointer.jobId, number: pointer.number }, error);
      return end === "failed" ? "failed" : "interrupted";
    }
    return task === null ? null : this.#attempt(task, control, history);
  }

  async #attempt(task: Task, control: Control, history: AttemptHistory): Promise<Outcome> {
    const { sql, clock, tracer, onEnd } = this.#deps;
    const report = startReport(task, clock, tracer);
    const beganMs = clock.monotonic();
    const tell = (end: TaskEnd) => onEnd(task.kind, end, (clock.monotonic() - beganMs) / 1_000);
    try {
      const end = await this.#perform(task, { control, report }, history);
      tell(end);
      this.#write(end, report.end(end));
      return "done";
    } catch (error) {
      const end = outcomeOfError(error, control);
      this.#write(end, report.end(end), error);
      if (end === "failed") {
        tell(end);
        return end;
      }
      await forgiveDelivery(sql, task).catch(() => undefined);
      return "interrupted";
    }
  }

  /** The one line of an attempt. */
  #write(end: ReportedOutcome, line: Record<string, unknown>, error?: unknown): void {
    const { level, message } = LOG_LINES[end];
    const { log } = this.#deps;
    if (error === undefined) log[level](line, message);
    else log[level]({ ...line, err: error instanceof Interruption ? error.cause : error }, message);
  }

  async #perform(task: Task, attempt: Attempt, history: AttemptHistory): Promise<TaskEnd> {
    try {
      if (task.deliveries > LIMITS.bulk.deliveries) {
        await this.#giveUp(task, attempt);
        return "dead";
      }
      await this.#work(task, attempt);
      return "done";
    } catch (error) {
      const loss = lossOf(error);
      if (loss === null) throw error;
      history.missingObjects += 1;
      if (loss.mayPass && history.missingObjects < LIMITS.bulk.missingTries) throw error;
      attempt.report.add({ code: loss.code });
      await this.#fail(task, loss);
      return "failed";
    }
  }

  #work(task: Task, attempt: Attempt): Promise<void> {
    switch (task.kind) {
      case "analysis":
        return runAnalysis(this.#deps, task, attempt);
      case "assembly":
        return runAssembly(this.#deps, task, attempt);
      default:
        return runRows(task.kind === "retry" ? this.#retryDeps : this.#deps, task, attempt, false);
    }
  }

  async #giveUp(task: Task, attempt: Attempt): Promise<void> {
    const { log, deadLetters } = this.#deps;
    const { jobId: job, number, deliveries } = task;
    // Dead letters are for the operator, like the log.
    await deadLetters.bury(task, deliveries).catch((error: unknown) => {
      log.warn({ err: error, job, number }, "a task that was given up is not noted in Redis");
    });
    const detail = "The job could not be brought to its end. It costs nothing.";
    const failure = { code: "internal_error", detail, charges: false } as const;
    if (task.kind === "analysis" || task.kind === "assembly") return void (await this.#fail(task, failure));
    try {
      await runRows(this.#deps, task, attempt, true);
    } catch (error) {
      if (error instanceof Interruption || lossOf(error) !== null) throw error;
      log.error({ err: error, job, number }, "the rows of a task cannot even be given up");
      await this.#fail(task, failure);
    }
  }

  #fail(task: Task, problem: JobProblem & { charges: boolean }): Promise<unknown> {
    const { sql, endings } = this.#deps;
    const { code, detail, charges } = problem;
    const ending = { status: "failed", code, detail, charges } as const;
    return interruptOnOutage(() => endings.endAlone(sql, task.teamId, task.jobId, ending));
  }
}
