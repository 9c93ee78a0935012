import { Gauge, type Registry } from "prom-client";
import { CellCounter, DurationHistogram, PulledGauge } from "../telemetry/custom-metrics.ts";

/** Requests: rate, errors and duration, by route. */
export function httpSeries(registers: Registry[]) {
  return {
    httpRequests: new CellCounter({
      name: "rcpt_http_requests_total",
      help: "Requests by route (its pattern, or unmatched), method and status; 499: the client disconnected before its answer.",
      labelNames: ["route", "method", "status"],
      registers,
    }),
    httpSeconds: new DurationHistogram({
      name: "rcpt_http_request_duration_seconds",
      help: "Time from request to response; for a streamed body, to its head.",
      label: "route",
      // A cached answer takes less than a tenth of a millisecond, a check up to its deadline.
      buckets: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
      ],
      registers,
    }),
    httpInFlight: new PulledGauge({
      name: "rcpt_http_requests_in_flight",
      help: "Requests being served.",
      registers,
    }),
    httpStreams: new Gauge({
      name: "rcpt_http_streams",
      help: "Streamed answers in progress: downloads and events.",
      registers,
    }),
  };
}
