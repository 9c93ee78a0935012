import type { RemoteParent, SpanPlace } from "./trace-context.ts";

/**
 * What a span may say: codes, names, numbers. Never an address, a query, a key or what a mail server wrote. Names of mail
 * exchangers and of their sites are said, unless they are the recipient's domain itself; they may be below it.
 */
export type SpanValue = string | number | boolean;
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** `server`: serves a request; `client`: asks somebody outside; `consumer`: works on a task of a queue. */
export type SpanKind = "internal" | "server" | "client" | "consumer";

export interface SpanOptions {
  kind?: SpanKind;
  /** `Clock.monotonic` milliseconds; now where absent. */
  startMs?: number;
  attributes?: SpanAttributes;
}

/** A part of a trace that is recorded. It is told when it has ended; times are `Clock.monotonic` milliseconds. */
export interface Span extends SpanPlace {
  child(name: string, options?: SpanOptions): Span;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  event(name: string, atMs: number, attributes?: SpanAttributes): void;
  /** Another trace that has to do with it. */
  link(place: SpanPlace): void;
  /** It did not do what it was for. @param code one of ours, never text from outside */
  fail(code: string): void;
  /** Idempotent. @param atMs now where absent */
  end(atMs?: number): void;
}

/** `work`, with a span of its own where it is recorded and not done at once. @param parent absent, null: it is not */
export function traced<T>(
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

/** A request that is to be recorded. */
export interface SampledRequest {
  /** Its sender asks for it, as a part of this; null: chance has it so. */
  parent: RemoteParent | null;
}

/**
 * Traces of this process. Where there are none it is null, and whoever could tell something asks no more than that; so does
 * what is not recorded. All of it is synchronous and never throws: who is traced waits for nothing.
 */
export interface Tracer {
  /**
   * Whether a request is to be recorded: as its sender asks in `traceparent`; of the others by chance. Takes nothing yet of what
   * may be (`LIMITS.tracing.requestsPerS`): whose share that is shows when the sender is known.
   * @param traceparent the field as sent, "" when absent; what is not one counts as absent
   */
  sample(traceparent: string): SampledRequest | null;
  /** Of a sender who is known. null: as many as may be were recorded in this second. */
  request(name: string, sampled: SampledRequest, startMs: number): Span | null;
  /** Of one who is not: what he asks for is left to chance, in a trace of its own that has a link to his. null: it is not recorded. */
  stranger(name: string, sampled: SampledRequest, startMs: number): Span | null;
  /** The job's trace, the same for all processes; null: it is not recorded. */
  jobTrace(jobId: string): SpanPlace | null;
  /** A task of the job, whose span is said to be its parent. */
  task(job: SpanPlace, name: string, startMs: number): Span;
  /** The span that stands for the whole job: for whoever ends it, once. Wall times, milliseconds. */
  job(job: SpanPlace, fromMs: number, toMs: number, attributes: SpanAttributes): void;
}
