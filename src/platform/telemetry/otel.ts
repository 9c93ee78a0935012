import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { TracingConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";
import { type Clock, pause } from "../time/clock.ts";
import { VERSION } from "../version.ts";
import { isInRatio, jobSpanRef, parseTraceparent, type SpanRef } from "./trace-context.ts";
import type { SampledRequest, Span, SpanAttributes, SpanOptions, Tracer } from "./tracing.ts";

/** Traces by OpenTelemetry's packages. Loaded only where tracing is on: see app/tracing.ts. */
export interface Tracing {
  tracer: Tracer;
  /** Sends the remaining spans, for at most LIMITS.tracing.flushMs, and drops the rest. Never rejects. */
  stop(): Promise<void>;
}

export interface TracingDeps {
  clock: Clock;
  log: Logger;
  /** `rcpt.role` of all spans. */
  role: string;
  /** `spans` were lost: the queue was full, or no collector accepted them. */
  onDropped(spans: number): void;
  /** 0 up to 1. */
  random(): number;
}

const KINDS: Record<NonNullable<SpanOptions["kind"]>, SpanKind> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};

/** OpenTelemetry's unambiguous time format: it may read a bare number as time since the process started. */
function hrTime(epochMs: number): [number, number] {
  const seconds = Math.floor(epochMs / 1_000);
  return [seconds, Math.min(999_999_999, Math.round((epochMs - seconds * 1_000) * 1e6))];
}

/** Random ids, except for a span that was requested by id. */
class SpanIdGenerator extends RandomIdGenerator implements IdGenerator {
  next: SpanRef | null = null;

  constructor() {
    super();
    // RandomIdGenerator has them as fields.
    const { generateTraceId, generateSpanId } = this;
    this.generateTraceId = () => this.next?.traceId ?? generateTraceId();
    this.generateSpanId = () => this.next?.spanId ?? generateSpanId();
  }
}

/** Counts waiting and lost spans, since the SDK's own queue drops silently. */
class BoundedQueue implements SpanProcessor {
  readonly #deps: TracingDeps;
  readonly #exporter: SpanExporter;
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;
  #closed = false;
  /** Spans still waiting count as lost. */
  #abandoned = false;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: TracingDeps, exporter: SpanExporter) {
    const { spansQueued, spansPerBatch, sendEveryMs, sendTimeoutMs } = LIMITS.tracing;
    this.#deps = deps;
    this.#exporter = exporter;
    const counted: SpanExporter = {
      export: (spans, done) => this.#send(spans, done),
      shutdown: () => exporter.shutdown(),
    };
    this.#batches = new BatchSpanProcessor(counted, {
      maxQueueSize: spansQueued,
      maxExportBatchSize: spansPerBatch,
      scheduledDelayMillis: sendEveryMs,
      // The exporter's own timeout fires first and gives the reason.
      exportTimeoutMillis: 2 * sendTimeoutMs,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#closed || this.#waiting >= LIMITS.tracing.spansQueued) {
      this.#deps.onDropped(1);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  #send(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.#exporter.export(spans, (result) => {
      this.#waiting -= spans.length;
      // Failures are logged here; the SDK would use its own log.
      done({ code: 0 });
      if (result.code === 0 || this.#abandoned) return;
      this.#deps.onDropped(spans.length);
      this.#logFailure(result.error);
    });
  }

  /** Once a minute at most, and without text from the collector. */
  #logFailure(error: Error | undefined): void {
    const nowMs = this.#deps.clock.monotonic();
    if (nowMs - this.#loggedMs < LIMITS.tracing.failureQuietMs) return;
    this.#loggedMs = nowMs;
    const code = error !== undefined && "code" in error ? error.code : undefined;
    this.#deps.log.warn({ code: code ?? error?.name }, "cannot send traces");
  }

  async shutdown(): Promise<void> {
    this.#closed = true;
    const sent = this.#batches.shutdown().then(
      () => true,
      () => true,
    );
    const late = pause(this.#deps.clock, LIMITS.tracing.flushMs).then(() => false);
    if (await Promise.race([sent, late])) return;
    this.#abandoned = true;
    this.#deps.onDropped(this.#waiting);
    this.#deps.log.warn({ spans: this.#waiting }, "traces were not sent before the process ended");
  }
}

function exporterOf(config: TracingConfig): OTLPTraceExporter {
  return new OTLPTraceExporter({
    url: `${config.endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: Object.fromEntries(config.headers),
    timeoutMillis: LIMITS.tracing.sendTimeoutMs,
    // One batch at a time: later spans wait in the one queue.
    concurrencyLimit: Math.ceil(LIMITS.tracing.spansQueued / LIMITS.tracing.spansPerBatch) + 1,
  });
}

type SdkTracer = ReturnType<BasicTracerProvider["getTracer"]>;
type SdkSpan = ReturnType<SdkTracer["startSpan"]>;

/** @param baseMs from `Clock.monotonic` to wall time, fixed for a trace: a clock change must not tear it apart */
class RecordedSpan implements Span {
  readonly #root: { tracer: SdkTracer; clock: Clock; baseMs: number };
  readonly #span: SdkSpan;

  constructor(root: { tracer: SdkTracer; clock: Clock; baseMs: number }, span: SdkSpan) {
    this.#root = root;
    this.#span = span;
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get spanId(): string {
    return this.#span.spanContext().spanId;
  }

  child(name: string, { kind = "internal", startMs, attributes = {} }: SpanOptions = {}): Span {
    const { tracer, clock, baseMs } = this.#root;
    const startTime = hrTime(baseMs + (startMs ?? clock.monotonic()));
    const context = trace.setSpan(ROOT_CONTEXT, this.#span);
    const options = { kind: KINDS[kind], startTime, attributes: { ...attributes } };
    return new RecordedSpan(this.#root, tracer.startSpan(name, options, context));
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  event(name: string, atMs: number, attributes: SpanAttributes = {}): void {
    this.#span.addEvent(name, { ...attributes }, hrTime(this.#root.baseMs + atMs));
  }

  link(place: SpanRef): void {
    this.#span.addLink({ context: remote(place) });
  }

  fail(code: string): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.setAttribute("error.type", code);
  }

  end(atMs?: number): void {
    if (!this.#span.isRecording()) return;
    this.#span.end(hrTime(this.#root.baseMs + (atMs ?? this.#root.clock.monotonic())));
  }
}

function remote({ traceId, spanId }: SpanRef): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Requests of one kind that may still be recorded in the current second. */
class PerSecondBudget {
  readonly #clock: Clock;
  readonly #perS: number;
  #left = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, perS: number) {
    this.#clock = clock;
    this.#perS = perS;
  }

  get isLeft(): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sinceMs >= 1_000) {
      this.#sinceMs = nowMs;
      this.#left = this.#perS;
    }
    return this.#left > 0;
  }

  take(): boolean {
    if (!this.isLeft) return false;
    this.#left -= 1;
    return true;
  }
}

const BY_CHANCE: SampledRequest = { parent: null };

function createTracer(
  sdk: SdkTracer,
  ids: SpanIdGenerator,
  ratio: number,
  { clock, random }: TracingDeps,
): Tracer {
  const { byChance, asked, unauthenticated } = LIMITS.tracing.requestsPerS;
  const budgets = {
    byChance: new PerSecondBudget(clock, byChance),
    asked: new PerSecondBudget(clock, asked),
    unauthenticated: new PerSecondBudget(clock, unauthenticated),
  };
  const root = () => ({ tracer: sdk, clock, baseMs: clock.now() - clock.monotonic() });

  function startSpan(name: string, kind: SpanKind, startMs: number, parent: SpanRef | null): Span {
    const base = root();
    const startTime = hrTime(base.baseMs + startMs);
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote(parent));
    return new RecordedSpan(base, sdk.startSpan(name, { kind, startTime }, context));
  }

  return {
    sample(traceparent) {
      const parent = traceparent === "" ? null : parseTraceparent(traceparent);
      if (parent === null) return random() < ratio && budgets.byChance.isLeft ? BY_CHANCE : null;
      return parent.sampled && budgets.asked.isLeft ? { parent } : null;
    },
    startRequest(name, { parent }, startMs) {
      const share = parent === null ? budgets.byChance : budgets.asked;
      return share.take() ? startSpan(name, SpanKind.SERVER, startMs, parent) : null;
    },
    startUnauthenticatedRequest(name, { parent }, startMs) {
      if (parent !== null && random() >= ratio) return null;
      if (!budgets.unauthenticated.take()) return null;
      const span = startSpan(name, SpanKind.SERVER, startMs, null);
      if (parent !== null) span.link(parent);
      return span;
    },
    jobTrace(jobId) {
      const place = jobSpanRef(jobId);
      return isInRatio(place.traceId, ratio) ? place : null;
    },
    startTask: (job, name, startMs) => startSpan(name, SpanKind.CONSUMER, startMs, job),
    job(job, fromMs, toMs, attributes) {
      ids.next = job;
      const options = { startTime: hrTime(fromMs), attributes: { ...attributes } };
      const span = sdk.startSpan("job", options, ROOT_CONTEXT);
      ids.next = null;
      span.end(hrTime(Math.max(fromMs, toMs)));
    },
  };
}

/** @param config where traces go; an unreachable collector fails nothing */
export function startTracing(config: TracingConfig, deps: TracingDeps): Tracing {
  const { attributesPerSpan, eventsPerSpan, linksPerSpan, attributeChars } = LIMITS.tracing;
  const ids = new SpanIdGenerator();
  const queue = new BoundedQueue(deps, exporterOf(config));
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      ...{ "service.name": config.serviceName, "service.version": VERSION },
      // Recommended by OpenTelemetry; the host name is the pod's.
      ...{ "service.instance.id": randomUUID(), "host.name": hostname(), "rcpt.role": deps.role },
    }),
    // All spans here are recorded: `Tracer.sample` and `jobTrace` have decided before.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    idGenerator: ids,
    spanProcessors: [queue],
    spanLimits: {
      attributeCountLimit: attributesPerSpan,
      eventCountLimit: eventsPerSpan,
      linkCountLimit: linksPerSpan,
      attributeValueLengthLimit: attributeChars,
    },
  });
  const tracer = createTracer(provider.getTracer("rcpt"), ids, config.ratio, deps);
  return { tracer, stop: () => queue.shutdown() };
}
