import { collectDefaultMetrics, Registry } from "prom-client";
import { engineSeries } from "../metrics/engine.ts";
import { httpSeries } from "../metrics/http.ts";
import { pipelineSeries } from "../metrics/pipeline.ts";
import { processSeries } from "../metrics/process.ts";
import { serviceSeries } from "../metrics/service.ts";
import { webhookSeries } from "../metrics/webhooks.ts";

export { type EngineLoad, observeEngine } from "../metrics/engine.ts";
export { observeWorkQueues, type WorkQueueLoad } from "../metrics/pipeline.ts";
export { describeBuild } from "../metrics/process.ts";

/**
 * Every metric of the process; docs/metrics.md lists them, and a test compares the two. Labels are closed sets: no address,
 * recipient domain or id is ever a label.
 */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    ...processSeries(registers),
    ...httpSeries(registers),
    ...serviceSeries(registers),
    ...engineSeries(registers),
    ...pipelineSeries(registers),
    ...webhookSeries(registers),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
