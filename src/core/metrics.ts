import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { AskedGauge, Durations, TalliedCounter } from "./tally.ts";

/** Every series of the process. Labels are closed sets: no address, domain of a recipient or id is ever a label. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    ...httpSeries(registers),
    ...serviceSeries(registers),
    ...engineSeries(registers),
    ...webhookSeries(registers),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

function httpSeries(registers: Registry[]) {
  return {
    httpRequests: new TalliedCounter({
      name: "rcpt_http_requests_total",
      help: "Requests by route, method and status.",
      labelNames: ["route", "method", "status"],
      registers,
    }),
    httpSeconds: new Durations({
      name: "rcpt_http_request_duration_seconds",
      help: "Time from request to response.",
      label: "route",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    httpInFlight: new AskedGauge({
      name: "rcpt_http_requests_in_flight",
      help: "Requests being served.",
      registers,
    }),
    httpStreams: new Gauge({
      name: "rcpt_http_streams",
      help: "Answers whose bodies are being streamed: downloads and events.",
      registers,
    }),
  };
}

function serviceSeries(registers: Registry[]) {
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
    chunksOutstanding: new Gauge({
      name: "rcpt_chunks_outstanding",
      help: "Tasks of bulk jobs that are not done, as the relay last counted them.",
      registers,
    }),
    rowsDeferred: new Gauge({
      name: "rcpt_rows_deferred",
      help: "Rows of bulk jobs that wait to be asked about again, by reason, as the relay last counted them.",
      labelNames: ["reason"],
      registers,
    }),
    dependencyUp: new Gauge({
      name: "rcpt_dependency_up",
      help: "1 while a dependency answers.",
      labelNames: ["dependency"],
      registers,
    }),
  };
}

function engineSeries(registers: Registry[]) {
  return {
    probes: new Counter({
      name: "rcpt_probes_total",
      help: "Probes by provider and outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    sessionsOpened: new Counter({
      name: "rcpt_smtp_sessions_opened_total",
      help: "SMTP connections opened.",
      registers,
    }),
    breakerTransitions: new Counter({
      name: "rcpt_breaker_transitions_total",
      help: "Circuit breakers that this process opened, opened again after a trial, or closed, by provider.",
      labelNames: ["state", "provider"],
      registers,
    }),
    sitesDisbelieved: new Gauge({
      name: "rcpt_sites_disbelieved",
      help: "Sites that were learnt to accept, or refuse, everybody, so that asking there tells nothing, by habit.",
      labelNames: ["habit"],
      registers,
    }),
    habitsSuspected: new Counter({
      name: "rcpt_provider_habits_suspected_total",
      help: "Times a named provider seemed to accept, or refuse, everybody: the operator may give it that habit.",
      labelNames: ["provider", "habit"],
      registers,
    }),
    networkDown: new Gauge({
      name: "rcpt_our_network_down",
      help: "1 while no site can be reached from here.",
      registers,
    }),
    wayDown: new Gauge({
      name: "rcpt_way_down",
      help: "1 while no site can be reached by this way out: a source address of ours, a proxy, or direct.",
      labelNames: ["way"],
      registers,
    }),
    houseOk: new Gauge({
      name: "rcpt_house_ok",
      help: "1 while preflight finds our own house in order on this way out, 0 while something fails.",
      labelNames: ["way"],
      registers,
    }),
    houseCheck: new Gauge({
      name: "rcpt_house_check",
      help: "1 where a check of preflight passed on this way out, 0 where it failed; absent where it cannot be told.",
      labelNames: ["way", "check"],
      registers,
    }),
  };
}

function webhookSeries(registers: Registry[]) {
  return {
    webhookAttempts: new Counter({
      name: "rcpt_webhook_attempts_total",
      help: "Attempts to deliver to webhooks by result: succeeded, retrying, failed (given up).",
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
      help: "Deliveries that wait for their next attempt, of the whole deployment.",
      registers,
    }),
  };
}

/** What is read of the check engine whenever the metrics are asked for. */
export interface EngineLoad {
  checksInFlight: number;
  slotsHeld: number;
  slotWaiters: number;
  sitesReduced: number;
  /** By provider, "other" for none. */
  breakersOpen: ReadonlyMap<string, number>;
}

type Count = { [K in keyof EngineLoad]: EngineLoad[K] extends number ? K : never }[keyof EngineLoad];

/** Adds the gauges of the engine's load to `metrics`: read when scraped, costing nothing in between. */
export function observeEngine(metrics: Metrics, read: () => EngineLoad): void {
  const gauge = (name: string, help: string, value: Count) =>
    new Gauge({
      name,
      help,
      registers: [metrics.registry],
      collect() {
        this.set(read()[value]);
      },
    });
  gauge("rcpt_checks_in_flight", "Checks in the thread pool.", "checksInFlight");
  gauge("rcpt_smtp_slots_in_use", "Connection slots held by this process.", "slotsHeld");
  gauge(
    "rcpt_sites_reduced",
    "Sites that get fewer connections of this process than they might, since they refused some.",
    "sitesReduced",
  );
  gauge("rcpt_smtp_slots_waiting", "Requests for a connection slot that wait.", "slotWaiters");
  new Gauge({
    name: "rcpt_breakers_open",
    help: "Open circuit breakers, sites that block us, as far as this process knows, by provider.",
    labelNames: ["provider"],
    registers: [metrics.registry],
    collect() {
      this.reset();
      for (const [provider, count] of read().breakersOpen) this.set({ provider }, count);
    },
  });
}
