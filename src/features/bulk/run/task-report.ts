import type { Span, SpanAttributes, SpanValue, Tracer } from "../../../platform/telemetry/tracing.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Task } from "../schedule/job-tasks.ts";
import { Interruption } from "./control.ts";

/** How an attempt at a task ended, for its line in the log. */
export type ReportedOutcome = "done" | "failed" | "dead" | "waits" | "cancelled";

type Fields = Record<string, SpanValue>;

/**
 * The report of one attempt at a task, with the duration of each phase: a line in the log, and for a traced job a span with
 * a child for each phase. It has numbers of rows, never an address or its domain, and the name of the slowest server.
 */
export class TaskReport {
  /** null: the job is not traced. */
  readonly span: Span | null;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #fields: Fields;
  readonly #phases: Record<string, number> = {};

  constructor(task: Task, clock: Clock, span: Span | null) {
    const { kind, jobId, teamId, number, deliveries } = task;
    this.#clock = clock;
    this.span = span;
    this.#startedMs = clock.monotonic();
    this.#fields = { job: jobId, team_id: teamId, number, kind, delivery: deliveries };
    if (task.kind === "retry") this.add({ chunk: task.chunk, reason: task.reason, attempts: task.attempts });
  }

  /** Numbers that are added several times are summed; of any other field the last value counts. */
  add(fields: Readonly<Fields>): void {
    for (const [name, value] of Object.entries(fields)) {
      const known = this.#fields[name];
      this.#fields[name] = typeof known === "number" && typeof value === "number" ? known + value : value;
    }
  }

  /** Work that is a phase of its own; one that comes again adds up. */
  async phase<T>(name: string, work: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonic();
    const span = this.span?.child(name, { startMs: startedMs });
    try {
      return await work();
    } catch (error) {
      // The task has to wait, or was cancelled: that is not an error.
      if (error instanceof Interruption) span?.set({ "rcpt.interrupted": true });
      else span?.fail("failed");
      throw error;
    } finally {
      span?.end();
      const key = `${name.replaceAll(" ", "_")}_ms`;
      this.#phases[key] = roundMs((this.#phases[key] ?? 0) + this.#clock.monotonic() - startedMs);
    }
  }

  /** @returns the attempt's line */
  end(end: ReportedOutcome): Record<string, unknown> {
    const { span } = this;
    const line = { ...this.#fields, outcome: end };
    if (span !== null) {
      span.set(attributesOf(line));
      if (end === "failed" || end === "dead") span.fail(end);
      span.end();
    }
    return {
      ...line,
      ms: roundMs(this.#clock.monotonic() - this.#startedMs),
      ...this.#phases,
      ...(span === null ? {} : { trace_id: span.traceId }),
    };
  }
}

/** The report of an attempt that begins. @param tracer null: nothing is traced */
export function startReport(task: Task, clock: Clock, tracer: Tracer | null): TaskReport {
  const job = tracer?.jobTrace(task.jobId) ?? null;
  const span = tracer === null || job === null ? null : tracer.startTask(job, task.kind, clock.monotonic());
  return new TaskReport(task, clock, span);
}

function attributesOf(fields: Fields): SpanAttributes {
  const named = Object.entries(fields).map(([name, value]) => [`rcpt.${name.replace("_id", ".id")}`, value]);
  return Object.fromEntries(named) as Fields;
}

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
