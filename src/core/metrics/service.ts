import { Counter, Gauge, type Registry } from "prom-client";
import { AskedGauge, TalliedCounter } from "../tally.ts";

/** What is answered, from where, and what it rests on. */
export function serviceSeries(registers: Registry[]) {
  return {
    verifications: new TalliedCounter({
      name: "rcpt_verifications_total",
      help: "Verifications by verdict, reason and whether from cache.",
      labelNames: ["verdict", "reason", "cached"],
      registers,
    }),
    cacheLookups: new TalliedCounter({
      name: "rcpt_evidence_cache_lookups_total",
      help: "Evidence cache look-ups by result.",
      labelNames: ["result"],
      registers,
    }),
    admissionsRefused: new TalliedCounter({
      name: "rcpt_admission_refused_total",
      help: "Checks of requests that were refused since checks waited too long for our own CPU.",
      registers,
    }),
    checkQueueSeconds: new AskedGauge({
      name: "rcpt_check_queue_seconds",
      help: "How long a check of a request waited for our own CPU, on the average, when that was looked at last.",
      registers,
    }),
    rechecks: new Counter({
      name: "rcpt_rechecks_total",
      help: "Addresses whose servers put us off, asked about again in the background, by result.",
      labelNames: ["result"],
      registers,
    }),
    rechecksPending: new AskedGauge({
      name: "rcpt_rechecks_pending",
      help: "Addresses that wait to be asked about again in the background.",
      registers,
    }),
    keyLookups: new TalliedCounter({
      name: "rcpt_key_cache_lookups_total",
      help: "API key look-ups by result.",
      labelNames: ["result"],
      registers,
    }),
    quotaLeases: new Counter({
      name: "rcpt_quota_leases_total",
      help: "Leases asked of the ledger by result.",
      labelNames: ["result"],
      registers,
    }),
    paidTwice: new Counter({
      name: "rcpt_billing_paid_twice_total",
      help: "Changes that left a team with more than one subscription that gives a tier; the log names them.",
      registers,
    }),
    dependencyUp: new Gauge({
      name: "rcpt_dependency_up",
      help: "1 while a dependency answers, as it was last asked: by readiness in an API, by each count in a relay.",
      labelNames: ["dependency"],
      registers,
    }),
  };
}
