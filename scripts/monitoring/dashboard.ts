import { placePanels, type RowPlan } from "./panels.ts";
import { IN, quantile, rate, rateOf, shareOf } from "./queries.ts";
import { BASE, SERVERS } from "./servers.ts";

/** The dashboard: a row of panels each for requests and for bulk jobs, then the mail servers and the stores. */

const NOW: RowPlan = {
  title: "Now",
  panels: [
    {
      kind: "stat",
      title: "Errors",
      words: "Requests that ended in 5xx, of all. 0.1 % is what the alerts allow.",
      unit: "percentunit",
      troubleFrom: 0.001,
      width: 4,
      queries: [{ expr: `max(rcpt:http_errors:ratio_rate5m{${IN}})`, legend: "errors" }],
    },
    {
      kind: "stat",
      title: "Requests",
      words: "Requests a second, all routes.",
      unit: "reqps",
      width: 4,
      queries: [{ expr: `sum(rcpt:http_requests:rate5m{${IN}})`, legend: "requests" }],
    },
    {
      kind: "stat",
      title: "Rows",
      words: "Rows of jobs a second.",
      unit: "cps",
      width: 4,
      queries: [{ expr: `sum(rcpt:bulk_rows:rate5m{${IN}})`, legend: "rows" }],
    },
    {
      kind: "stat",
      title: "Chunks outstanding",
      words: "Tasks of jobs that are not done: what the autoscaler of `bulk` goes by.",
      width: 4,
      queries: [{ expr: `max(rcpt_chunks_outstanding{${IN}})`, legend: "chunks" }],
    },
    {
      kind: "stat",
      title: "Oldest chunk",
      words: "How long the oldest emitted chunk has waited for its end.",
      unit: "s",
      troubleFrom: 3600,
      width: 4,
      queries: [{ expr: `max(rcpt_oldest_chunk_age_seconds{${IN}})`, legend: "age" }],
    },
    {
      kind: "stat",
      title: "Providers that block us",
      words: "Circuit breakers that are open, of named providers.",
      troubleFrom: 1,
      width: 4,
      queries: [
        {
          expr: `sum(max by (provider) (rcpt_breakers_open{${IN}, provider!="other"})) or vector(0)`,
          legend: "open",
        },
      ],
    },
  ],
};

const REQUEST: RowPlan = {
  title: "A request: socket, credential, cache, check, verdict",
  panels: [
    {
      kind: "timeseries",
      title: "Rate by route",
      words: "Requests a second.",
      unit: "reqps",
      stacked: true,
      width: 8,
      queries: [{ expr: rateOf("rcpt_http_requests_total", "route"), legend: "{{route}}" }],
    },
    {
      kind: "timeseries",
      title: "Errors and refusals by status",
      words: "Answers of 400 and above a second. 429 and 402 are what was agreed; 5xx is ours.",
      unit: "reqps",
      width: 8,
      queries: [
        {
          expr: rateOf("rcpt_http_requests_total", "status", ', status=~"[45].."'),
          legend: "{{status}}",
        },
      ],
    },
    {
      kind: "timeseries",
      title: "Duration of GET /v1/verify",
      words:
        "Time to the answer. A cached one takes less than a millisecond, a probe what the mail server takes.",
      unit: "s",
      width: 8,
      queries: [0.5, 0.95, 0.99].map((share) => ({
        expr: quantile(share, "rcpt_http_request_duration_seconds", "route", ', route="/v1/verify"'),
        legend: `p${share * 100}`,
      })),
    },
    {
      kind: "timeseries",
      title: "In flight",
      words: "Requests being served, by pod: what the autoscaler of `api` goes by, beside its CPU.",
      width: 6,
      queries: [
        { expr: `sum by (pod) (rcpt_http_requests_in_flight{${IN}})`, legend: "{{pod}}" },
        { expr: `sum by (pod) (rcpt_checks_in_flight{${IN}})`, legend: "checks {{pod}}" },
      ],
    },
    {
      kind: "timeseries",
      title: "Hits of the caches",
      words: "Look-ups that were answered without asking further: evidence in memory or Redis, keys, DNS.",
      unit: "percentunit",
      width: 6,
      queries: [
        {
          expr: shareOf(
            rate("rcpt_evidence_cache_lookups_total", ', result!="miss"'),
            rate("rcpt_evidence_cache_lookups_total"),
          ),
          legend: "evidence",
        },
        {
          expr: shareOf(
            rate("rcpt_key_cache_lookups_total", ', result="hit"'),
            rate("rcpt_key_cache_lookups_total"),
          ),
          legend: "keys",
        },
        {
          expr: shareOf(rate("rcpt_dns_lookups_total", ', result="hit"'), rate("rcpt_dns_lookups_total")),
          legend: "DNS",
        },
      ],
    },
    {
      kind: "timeseries",
      title: "Verdicts",
      words: "Verifications a second, requests and rows.",
      unit: "ops",
      stacked: true,
      width: 6,
      queries: [{ expr: rateOf("rcpt_verifications_total", "verdict"), legend: "{{verdict}}" }],
    },
    {
      kind: "timeseries",
      title: "Why unknown",
      words: "Of those unknown: the reason, which says whose fault it is.",
      unit: "ops",
      stacked: true,
      width: 6,
      queries: [
        { expr: rateOf("rcpt_verifications_total", "reason", ', verdict="unknown"'), legend: "{{reason}}" },
      ],
    },
  ],
};

const BULK: RowPlan = {
  title: "A bulk row: list, chunks, stream, shard, results",
  panels: [
    {
      kind: "timeseries",
      title: "Rows",
      words: "Rows a second: in chunks at first, in retries when their server had them wait.",
      unit: "cps",
      stacked: true,
      width: 8,
      queries: [{ expr: rateOf("rcpt_bulk_rows_total", "kind"), legend: "{{kind}}" }],
    },
    {
      kind: "timeseries",
      title: "Backlog",
      words: "Outstanding are all chunks of all jobs; the stream holds only each job's window of them.",
      width: 8,
      queries: [
        { expr: `max(rcpt_chunks_outstanding{${IN}})`, legend: "outstanding" },
        { expr: `max by (stream) (rcpt_stream_lag{${IN}})`, legend: "lag of {{stream}}" },
        { expr: `max by (stream) (rcpt_stream_pending{${IN}})`, legend: "in hand of {{stream}}" },
      ],
    },
    {
      kind: "timeseries",
      title: "Jobs",
      words: "Jobs that are not over, by state.",
      stacked: true,
      width: 8,
      queries: [{ expr: `max by (state) (rcpt_jobs{${IN}})`, legend: "{{state}}" }],
    },
    {
      kind: "timeseries",
      title: "Duration of tasks",
      words: "p95 by kind. Chunks have a budget of time: rows that have to wait leave them.",
      unit: "s",
      width: 6,
      queries: [{ expr: quantile(0.95, "rcpt_bulk_task_duration_seconds", "kind"), legend: "{{kind}}" }],
    },
    {
      kind: "timeseries",
      title: "Tasks that did not end",
      words: "Handed back at a drain, failed and to be tried again, or given up as dead letters.",
      unit: "ops",
      width: 6,
      queries: [
        {
          expr: rateOf("rcpt_bulk_tasks_total", "kind, outcome", ', outcome!="done"'),
          legend: "{{kind}} {{outcome}}",
        },
        { expr: `max(rcpt_dead_letters{${IN}})`, legend: "dead letters kept" },
      ],
    },
    {
      kind: "timeseries",
      title: "Rows that wait",
      words: "Deferred, by reason.",
      stacked: true,
      width: 6,
      queries: [{ expr: `max by (reason) (rcpt_rows_deferred{${IN}})`, legend: "{{reason}}" }],
    },
    {
      kind: "timeseries",
      title: "Places",
      words:
        "Of the places of each lane, those in use. All in use and CPU to spare: rows wait for mail servers.",
      unit: "percentunit",
      width: 6,
      queries: [
        {
          expr: `sum by (lane) (rcpt_bulk_places_in_use{${IN}}) / sum by (lane) (rcpt_bulk_places{${IN}})`,
          legend: "{{lane}}",
        },
      ],
    },
  ],
};

const VARIABLES = [
  { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", hide: 0 },
  {
    name: "namespace",
    label: "Namespace",
    type: "query",
    datasource: { type: "prometheus", uid: "$datasource" },
    query: { query: "label_values(rcpt_build_info, namespace)", refId: "namespaces" },
    includeAll: true,
    multi: true,
    refresh: 2,
    current: { text: ["All"], value: ["$__all"] },
  },
];

/** The document that Grafana imports. */
export function createDashboard(): object {
  return {
    uid: "rcpt",
    title: "rcpt",
    tags: ["rcpt"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "utc",
    templating: { list: VARIABLES },
    annotations: { list: [] },
    panels: placePanels([NOW, REQUEST, BULK, SERVERS, BASE]),
  };
}

/** The dashboard's file, as it is in the repository. */
export function renderDashboard(): string {
  return `${JSON.stringify(createDashboard(), null, 2)}\n`;
}
