import { Counter, Gauge, type Registry } from "prom-client";
import { PROBE_BUCKETS_S } from "../../config/durations.ts";
import { DurationHistogram } from "../telemetry/custom-metrics.ts";

/** Mail servers, and what prevents probes. Providers are those of the shaping table, and `other`. */
export function engineSeries(registers: Registry[]) {
  return { ...probeSeries(registers), ...learnedBehaviourSeries(registers), ...egressRouteSeries(registers) };
}

function probeSeries(registers: Registry[]) {
  return {
    probes: new Counter({
      name: "rcpt_probes_total",
      help: "Probes by provider and outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    probeSeconds: new DurationHistogram({
      name: "rcpt_probe_duration_seconds",
      help: "Time from MAIL to the answer of answered transactions; for a pipelined write, to its last answer.",
      label: "provider",
      buckets: PROBE_BUCKETS_S,
      registers,
    }),
    greylistings: new Counter({
      name: "rcpt_greylistings_total",
      help: "Probes that ended in greylisting, by provider.",
      labelNames: ["provider"],
      registers,
    }),
    sessionsOpened: new Counter({
      name: "rcpt_smtp_sessions_opened_total",
      help: "SMTP connections opened.",
      registers,
    }),
    transactions: new Counter({
      name: "rcpt_smtp_transactions_total",
      help: "SMTP transactions of one recipient each; divided by sessions: how far connections are shared.",
      registers,
    }),
    pipelineWrites: new Counter({
      name: "rcpt_smtp_pipeline_writes_total",
      help: "Writes of whole transactions to servers with PIPELINING.",
      registers,
    }),
    pipelineGroups: new Counter({
      name: "rcpt_smtp_pipeline_groups_total",
      help: "Transactions in such writes; divided by writes: the depth.",
      registers,
    }),
    dnsLookups: new Counter({
      name: "rcpt_dns_lookups_total",
      help: "Names looked up by check threads: hit (cached or in progress), answered, absent, failed.",
      labelNames: ["result"],
      registers,
    }),
    catchAllLookups: new Counter({
      name: "rcpt_catch_all_lookups_total",
      help: "Catch-all look-ups for accepted mailboxes: known (hit), or probed.",
      labelNames: ["result"],
      registers,
    }),
  };
}

function learnedBehaviourSeries(registers: Registry[]) {
  return {
    breakerTransitions: new Counter({
      name: "rcpt_breaker_transitions_total",
      help: "Circuit breakers that this process opened, reopened after a trial, or closed, by provider.",
      labelNames: ["state", "provider"],
      registers,
    }),
    sitesWithLearnedBehaviour: new Gauge({
      name: "rcpt_sites_disbelieved",
      help: "Sites with learned behaviour, accepts-everyone or refuses-everyone, so that probes there prove nothing, by habit.",
      labelNames: ["habit"],
      registers,
    }),
    behaviourSuspicions: new Counter({
      name: "rcpt_provider_habits_suspected_total",
      help: "Times a named provider seemed to accept, or refuse, every recipient: the operator may configure that habit.",
      labelNames: ["provider", "habit"],
      registers,
    }),
  };
}

function egressRouteSeries(registers: Registry[]) {
  return {
    networkDown: new Gauge({
      name: "rcpt_our_network_down",
      help: "1 while no site is reachable from this process.",
      registers,
    }),
    egressRouteDown: new Gauge({
      name: "rcpt_way_down",
      help: "1 while no site is reachable by this egress route: a source address, a proxy, or direct.",
      labelNames: ["way"],
      registers,
    }),
    selfCheckOk: new Gauge({
      name: "rcpt_house_ok",
      help: "1 while the self-check passes for this egress route, 0 while a check fails.",
      labelNames: ["way"],
      registers,
    }),
    selfCheckResult: new Gauge({
      name: "rcpt_house_check",
      help: "1 where a check of the self-check passed for this egress route, 0 where it failed; absent where unknown.",
      labelNames: ["way", "check"],
      registers,
    }),
  };
}

/** The check engine's load, read when the metrics are scraped. */
export interface EngineLoad {
  checksInFlight: number;
  slotsHeld: number;
  slotWaiters: number;
  sessionsOpen: number;
  sitesReduced: number;
  /** By provider; "other" for a site without a named provider. */
  breakersOpen: ReadonlyMap<string, number>;
}

type Count = { [K in keyof EngineLoad]: EngineLoad[K] extends number ? K : never }[keyof EngineLoad];

/** Adds the gauges of the engine's load to a registry: read when scraped, at no cost in between. */
export function observeEngine({ registry }: { registry: Registry }, read: () => EngineLoad): void {
  const gauge = (name: string, help: string, value: Count) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read()[value]);
      },
    });
  gauge("rcpt_checks_in_flight", "Checks in the thread pool.", "checksInFlight");
  gauge("rcpt_smtp_slots_in_use", "Connection slots held by this process.", "slotsHeld");
  gauge(
    "rcpt_smtp_sessions_open",
    "Open SMTP sessions past their handshake, as check threads last reported.",
    "sessionsOpen",
  );
  gauge(
    "rcpt_sites_reduced",
    "Sites that get fewer connections from this process because they refused some.",
    "sitesReduced",
  );
  gauge("rcpt_smtp_slots_waiting", "Waiters for a connection slot.", "slotWaiters");
  new Gauge({
    name: "rcpt_breakers_open",
    help: "Open circuit breakers (sites that block us) known to this process, by provider.",
    labelNames: ["provider"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [provider, count] of read().breakersOpen) this.set({ provider }, count);
    },
  });
}
