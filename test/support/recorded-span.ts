import type { SpanRef } from "../../src/platform/telemetry/trace-context.ts";
import type { Span, SpanAttributes, SpanOptions } from "../../src/platform/telemetry/tracing.ts";

/** A span that records its calls, with its children in order. Times are as given; NaN: the present. */
export class RecordedSpan implements Span {
  name: string;
  readonly traceId = "a".repeat(32);
  readonly spanId = "b".repeat(16);
  readonly kind: string;
  readonly startMs: number;
  endMs: number | null = null;
  attributes: Record<string, unknown>;
  readonly events: { name: string; atMs: number }[] = [];
  readonly links: SpanRef[] = [];
  readonly children: RecordedSpan[] = [];
  failedBy: string | null = null;

  constructor(name: string, { kind = "internal", startMs = Number.NaN, attributes = {} }: SpanOptions = {}) {
    this.name = name;
    this.kind = kind;
    this.startMs = startMs;
    this.attributes = { ...attributes };
  }

  child(name: string, options: SpanOptions = {}): RecordedSpan {
    const child = new RecordedSpan(name, options);
    this.children.push(child);
    return child;
  }

  rename(name: string): void {
    this.name = name;
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.attributes, attributes);
  }

  event(name: string, atMs: number): void {
    this.events.push({ name, atMs });
  }

  link(place: SpanRef): void {
    this.links.push(place);
  }

  fail(code: string): void {
    this.failedBy = code;
  }

  end(atMs = Number.NaN): void {
    this.endMs ??= atMs;
  }
}
