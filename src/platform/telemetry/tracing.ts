import type { RemoteParent, SpanRef } from "./trace-context.ts";

/**
 * Values of span attributes: codes, names, numbers. Never an address, a query, a key or a mail server's text. Names of mail
 * exchangers and their sites are allowed unless they are the recipient's domain itself; they may be below it.
 */
export type SpanValue = string | number | boolean;
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** `server`: serves a request; `client`: calls an external service; `consumer`: works on a task of a queue. */
export type SpanKind = "internal" | "server" | "client" | "consumer";

export interface SpanOptions {
  kind?: SpanKind;
  /** `Clock.monotonic` milliseconds; default now. */
  startMs?: number;
  attributes?: SpanAttributes;
}

/** A recorded part of a trace, exported once it has ended; times are `Clock.monotonic` milliseconds. */
export interface Span extends SpanRef {
  child(name: string, options?: SpanOptions): Span;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  event(name: string, atMs: number, attributes?: SpanAttributes): void;
  /** Links a related trace. */
  link(ref: SpanRef): void;
  /** Marks the span as failed. @param code a code of ours, never text from outside */
  fail(code: string): void;
  /** Idempotent. @param atMs default now */
  end(atMs?: number): void;
}

/** Runs `work`, with a span of its own where it is recorded and not done at once. @param parent absent, null: not recorded */
export function traceCall<T>(
  parent: Span | null | undefined,
  name: string,
  work: T | Promise<T>,
): T | Promise<T> {
  if (parent === null || parent === undefined || !(work instanceof Promise)) return work;
  const span = parent.child(name, { kind: "client" });
  const ended = () => span.end();
  work.then(ended, ended);
  return work;
}

/** A request to record. */
export interface SampledRequest {
  /** The parent named by its sender; null: chosen by chance. */
  parent: RemoteParent | null;
}

/**
 * Traces of this process. Without tracing it is null, and callers check only for that; the same for unrecorded requests.
 * All methods are synchronous and never throw: a traced request waits for nothing.
 */
export interface Tracer {
  /**
   * Decides whether to record a request: by its sender's `traceparent`, otherwise by chance. Takes nothing from the budget
   * yet (`LIMITS.tracing.requestsPerS`): the right share is known once the sender is.
   * @param traceparent the field as sent, "" when absent; an invalid one counts as absent
   */
  sample(traceparent: string): SampledRequest | null;
  /** Starts a span for an authenticated sender. null: this second's budget is used up. */
  startRequest(name: string, sampled: SampledRequest, startMs: number): Span | null;
  /**
   * Starts a span for an unauthenticated sender: chance decides, in a trace of its own with a link to the sender's. null:
   * not recorded.
   */
  startUnauthenticatedRequest(name: string, sampled: SampledRequest, startMs: number): Span | null;
  /** The job's trace, the same for all processes; null: not recorded. */
  jobTrace(jobId: string): SpanRef | null;
  /** A task of the job, with the job's span as its parent. */
  startTask(recordJob: SpanRef, name: string, startMs: number): Span;
  /** The span for the whole job: recorded once by the process that ends it. Wall times, milliseconds. */
  job(job: SpanRef, fromMs: number, toMs: number, attributes: SpanAttributes): void;
}
