import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { LifecyclePart } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Tracer } from "../core/tracing.ts";

export interface ComposedTracing {
  /** null: there are no traces. */
  tracer: Tracer | null;
  parts: LifecyclePart[];
}

/**
 * Traces of a process, where a place for them is configured. Where not, OpenTelemetry's SDK and exporter are not read;
 * its API is in any case, by prom-client, and does nothing there.
 */
export async function composeTracing(
  { tracing, role }: Pick<Config, "tracing" | "role">,
  { log, metrics }: { log: Logger; metrics: Metrics },
): Promise<ComposedTracing> {
  // What the relay does belongs to no request, and to no job's rows.
  if (tracing === null || role === "relay") return { tracer: null, parts: [] };
  const { startTracing } = await import("../core/otel.ts");
  const { tracer, stop } = startTracing(tracing, {
    clock: systemClock,
    log,
    role,
    onDropped: (spans) => metrics.traceSpansDropped.inc(spans),
    random: Math.random,
  });
  return { tracer, parts: [{ name: "traces", stop }] };
}
