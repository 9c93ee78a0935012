import type { Config } from "../config/config.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";
import { systemClock } from "../platform/time/clock.ts";

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
  // The relay's work belongs to no request and to no row of a job.
  if (tracing === null || role === "relay") return { tracer: null, parts: [] };
  const { startTracing } = await import("../platform/telemetry/otel.ts");
  const { tracer, stop } = startTracing(tracing, {
    clock: systemClock,
    log,
    role,
    onDropped: (spans) => metrics.traceSpansDropped.inc(spans),
    random: Math.random,
  });
  return { tracer, parts: [{ name: "traces", stop }] };
}
