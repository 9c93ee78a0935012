import { Counter, Gauge, type Registry } from "prom-client";
import { AskedGauge } from "../tally.ts";
import { VERSION } from "../version.ts";

/** What runs here, and whether it serves. */
export function processSeries(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: "rcpt_build_info",
      help: "1: what runs here, by its labels.",
      labelNames: ["version", "role", "node"],
      registers,
    }),
    listTimestamp: new Gauge({
      name: "rcpt_list_timestamp_seconds",
      help: "Of what day a list of domains or roles is, as seconds since 1970: its age is time() less this.",
      labelNames: ["list"],
      registers,
    }),
    ready: new AskedGauge({
      name: "rcpt_ready",
      help: "1 from when the process has started until it drains.",
      registers,
    }),
    traceSpansDropped: new Counter({
      name: "rcpt_trace_spans_dropped_total",
      help: "Spans that were lost: more waited than may, or no collector took them.",
      registers,
    }),
  };
}

/** @param role of this process */
export function describeBuild({ buildInfo }: ReturnType<typeof processSeries>, role: string): void {
  buildInfo.set({ version: VERSION, role, node: process.versions.node }, 1);
}
