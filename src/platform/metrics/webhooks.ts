import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export function webhookSeries(registers: Registry[]) {
  return {
    webhookAttempts: new Counter({
      name: "rcpt_webhook_attempts_total",
      help: "Attempts to deliver to webhooks, by result: succeeded, retrying, failed (given up).",
      labelNames: ["result"],
      registers,
    }),
    webhookSeconds: new Histogram({
      name: "rcpt_webhook_attempt_duration_seconds",
      help: "Time from the name look-up to the receiver's answer.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    webhookBacklog: new Gauge({
      name: "rcpt_webhook_deliveries_pending",
      help: "Deliveries waiting for their next attempt, in the whole deployment.",
      registers,
    }),
  };
}
