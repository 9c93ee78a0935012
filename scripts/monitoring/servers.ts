import type { RowPlan } from "./panels.ts";
import { IN, quantile, rate, rateOf, shareOf } from "./queries.ts";

/** Panels about mail servers, and about the stores and the machine. */

export const SERVERS: RowPlan = {
  title: "Mail servers",
  panels: [
    {
      kind: "timeseries",
      title: "Probes by provider",
      words: "Recipients asked about, a second.",
      unit: "ops",
      stacked: true,
      width: 8,
      queries: [{ expr: rateOf("rcpt_probes_total", "provider"), legend: "{{provider}}" }],
    },
    {
      kind: "timeseries",
      title: "Probes by class of reply",
      words: "What they were answered.",
      unit: "ops",
      stacked: true,
      width: 8,
      queries: [{ expr: rateOf("rcpt_probes_total", "outcome"), legend: "{{outcome}}" }],
    },
    {
      kind: "timeseries",
      title: "Duration of probes",
      words: "p95 by provider, from MAIL to the answer.",
      unit: "s",
      width: 8,
      queries: [{ expr: quantile(0.95, "rcpt_probe_duration_seconds", "provider"), legend: "{{provider}}" }],
    },
    {
      kind: "timeseries",
      title: "Connections",
      words: "Open ones, slots of sites that are held, and those who wait for one.",
      width: 6,
      queries: [
        { expr: `sum(rcpt_smtp_sessions_open{${IN}})`, legend: "open" },
        { expr: `sum(rcpt_smtp_slots_in_use{${IN}})`, legend: "slots held" },
        { expr: `sum(rcpt_smtp_slots_waiting{${IN}})`, legend: "waiting" },
      ],
    },
    {
      kind: "timeseries",
      title: "Use of connections",
      words: "Transactions to a connection, and transactions to a write (the depth of the pipeline).",
      width: 6,
      queries: [
        {
          expr: shareOf(rate("rcpt_smtp_transactions_total"), rate("rcpt_smtp_sessions_opened_total")),
          legend: "to a connection",
        },
        {
          expr: shareOf(rate("rcpt_smtp_pipeline_groups_total"), rate("rcpt_smtp_pipeline_writes_total")),
          legend: "to a write",
        },
      ],
    },
    {
      kind: "timeseries",
      title: "Greylisting and background questions",
      words: "Refusals that ask for patience, by provider, and addresses that wait to be asked again.",
      width: 6,
      queries: [
        { expr: rateOf("rcpt_greylistings_total", "provider"), legend: "greylisted by {{provider}}" },
        { expr: `sum(rcpt_rechecks_pending{${IN}})`, legend: "to be asked again" },
      ],
    },
    {
      kind: "timeseries",
      title: "Our own address",
      words: "0: listed, or names that contradict one another; 1: in order. Beside it, who blocks us.",
      width: 6,
      queries: [
        { expr: `min by (way) (rcpt_house_ok{${IN}})`, legend: "house {{way}}" },
        { expr: `max by (provider) (rcpt_breakers_open{${IN}})`, legend: "blocked by {{provider}}" },
        { expr: `max by (way) (rcpt_way_down{${IN}})`, legend: "down {{way}}" },
      ],
    },
  ],
};

export const BASE: RowPlan = {
  title: "What it stands on",
  panels: [
    {
      kind: "timeseries",
      title: "Dependencies",
      words: "1 while it answers.",
      width: 6,
      queries: [{ expr: `min by (dependency) (rcpt_dependency_up{${IN}})`, legend: "{{dependency}}" }],
    },
    {
      kind: "timeseries",
      title: "CPU",
      words: "Cores, by pod.",
      width: 6,
      queries: [{ expr: rateOf("process_cpu_seconds_total", "pod", ', pod=~".*rcpt.*"'), legend: "{{pod}}" }],
    },
    {
      kind: "timeseries",
      title: "Memory",
      words: "Resident, by pod.",
      unit: "bytes",
      width: 6,
      queries: [
        {
          expr: `sum by (pod) (process_resident_memory_bytes{${IN}, pod=~".*rcpt.*"})`,
          legend: "{{pod}}",
        },
      ],
    },
    {
      kind: "timeseries",
      title: "Webhooks",
      words: "Attempts a second by result, and deliveries that wait.",
      width: 6,
      queries: [
        { expr: rateOf("rcpt_webhook_attempts_total", "result"), legend: "{{result}}" },
        { expr: `max(rcpt_webhook_deliveries_pending{${IN}})`, legend: "waiting" },
      ],
    },
  ],
};
