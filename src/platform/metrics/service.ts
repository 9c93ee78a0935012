import { Counter, Gauge, type Registry } from "prom-client";
import { CellCounter, PulledGauge } from "../telemetry/custom-metrics.ts";

/** Verifications, caches, and the dependencies of answers. */
export function serviceSeries(registers: Registry[]) {
  return {
    verifications: new CellCounter({
      name: "rcpt_verifications_total",
      help: "Verifications by verdict, reason and whether they came from the cache.",
      labelNames: ["verdict", "reason", "cached"],
      registers,
    }),
    cacheLookups: new CellCounter({
      name: "rcpt_evidence_cache_lookups_total",
      help: "Evidence cache look-ups by result.",
      labelNames: ["result"],
      registers,
    }),
    admissionsRefused: new CellCounter({
      name: "rcpt_admission_refused_total",
      help: "Checks of requests refused because checks waited too long for our own CPU.",
      registers,
    }),
    checkQueueSeconds: new PulledGauge({
      name: "rcpt_check_queue_seconds",
      help: "Average wait of a request's check for our own CPU, as last measured.",
      registers,
    }),
    rechecks: new Counter({
      name: "rcpt_rechecks_total",
      help: "Background rechecks of temporarily refused addresses, by result.",
      labelNames: ["result"],
      registers,
    }),
    rechecksPending: new PulledGauge({
      name: "rcpt_rechecks_pending",
      help: "Addresses waiting for a background recheck.",
      registers,
    }),
    feedbackEvents: new Counter({
      name: "rcpt_feedback_events_total",
      help: "New events that teams reported, by the verdict they had and what became of the message.",
      labelNames: ["verdict", "outcome"],
      registers,
    }),
    keyLookups: new CellCounter({
      name: "rcpt_key_cache_lookups_total",
      help: "API key look-ups by result.",
      labelNames: ["result"],
      registers,
    }),
    quotaLeases: new Counter({
      name: "rcpt_quota_leases_total",
      help: "Leases requested from the ledger, by result.",
      labelNames: ["result"],
      registers,
    }),
    paidTwice: new Counter({
      name: "rcpt_billing_paid_twice_total",
      help: "Changes that left a team with more than one subscription that grants a tier; the log names them.",
      registers,
    }),
    dependencyUp: new Gauge({
      name: "rcpt_dependency_up",
      help: "1 while a dependency answers, as last checked: by readiness in an API, by each count in a relay.",
      labelNames: ["dependency"],
      registers,
    }),
  };
}
