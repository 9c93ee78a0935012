import { Counter, Gauge, type Registry } from "prom-client";
import { PROBE_SECONDS } from "../durations.ts";
import { Durations } from "../tally.ts";

/** Mail servers, and what keeps us from asking them. Providers are those of the shaping table, and `other`. */
export function engineSeries(registers: Registry[]) {
  return { ...probeSeries(registers), ...beliefSeries(registers), ...waySeries(registers) };
}

function probeSeries(registers: Registry[]) {
  return {
    probes: new Counter({
      name: "rcpt_probes_total",
      help: "Probes by provider and outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    probeSeconds: new Durations({
      name: "rcpt_probe_duration_seconds",
      help: "Time from MAIL to the answer of transactions that were answered; of a pipelined write, to its last answer.",
      label: "provider",
      buckets: PROBE_SECONDS,
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
      help: "SMTP transactions of one recipient each; by session: how far connections are shared.",
      registers,
    }),
    pipelineWrites: new Counter({
      name: "rcpt_smtp_pipeline_writes_total",
      help: "Writes of whole transactions to servers that pipeline.",
      registers,
    }),
    pipelineGroups: new Counter({
      name: "rcpt_smtp_pipeline_groups_total",
      help: "Transactions in such writes; by write: the depth.",
      registers,
    }),
    dnsLookups: new Counter({
      name: "rcpt_dns_lookups_total",
      help: "Names looked up by check threads: hit (known, or being asked), answered, absent, failed.",
      labelNames: ["result"],
      registers,
    }),
    catchAllLookups: new Counter({
      name: "rcpt_catch_all_lookups_total",
      help: "Accepted mailboxes whose server's way with strangers was known (hit), or had to be asked for.",
      labelNames: ["result"],
      registers,
    }),
  };
}

function beliefSeries(registers: Registry[]) {
  return {
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
  };
}

function waySeries(registers: Registry[]) {
  return {
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

/** What is read of the check engine whenever the metrics are asked for. */
export interface EngineLoad {
  checksInFlight: number;
  slotsHeld: number;
  slotWaiters: number;
  sessionsOpen: number;
  sitesReduced: number;
  /** By provider, "other" for none. */
  breakersOpen: ReadonlyMap<string, number>;
}

type Count = { [K in keyof EngineLoad]: EngineLoad[K] extends number ? K : never }[keyof EngineLoad];

/** Adds the gauges of the engine's load to a registry: read when scraped, costing nothing in between. */
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
    "SMTP sessions through their handshake that are open, as check threads last told.",
    "sessionsOpen",
  );
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
    registers: [registry],
    collect() {
      this.reset();
      for (const [provider, count] of read().breakersOpen) this.set({ provider }, count);
    },
  });
}
