import { Counter, Gauge, type Registry } from "prom-client";
import { PulledGauge } from "../telemetry/custom-metrics.ts";
import { VERSION } from "../version.ts";

/** The process's version and readiness. */
export function processSeries(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: "rcpt_build_info",
      help: "Always 1; its labels name the version, role and Node.js.",
      labelNames: ["version", "role", "node"],
      registers,
    }),
    listTimestamp: new Gauge({
      name: "rcpt_list_timestamp_seconds",
      help: "Date of a list of domains or roles, in seconds since 1970: its age is time() less this.",
      labelNames: ["list"],
      registers,
    }),
    ready: new PulledGauge({
      name: "rcpt_ready",
      help: "1 while the process serves: from its start until it drains.",
      registers,
    }),
    traceSpansDropped: new Counter({
      name: "rcpt_trace_spans_dropped_total",
      help: "Lost spans: the queue was full, or no collector accepted them.",
      registers,
    }),
  };
}

/** @param role of this process */
export function describeBuild({ buildInfo }: ReturnType<typeof processSeries>, role: string): void {
  buildInfo.set({ version: VERSION, role, node: process.versions.node }, 1);
}
