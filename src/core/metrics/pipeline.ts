import { Counter, Gauge, type Registry } from "prom-client";
import { Durations, KnownGauge } from "../tally.ts";

/** The way of bulk jobs: what the whole deployment has to do, counted by each relay, and what each worker does of it. */
export function pipelineSeries(registers: Registry[]) {
  return { ...deploymentSeries(registers), ...workerSeries(registers) };
}

/** Every relay counts all of it: of several the highest counts. Absent where it could not be counted. */
function deploymentSeries(registers: Registry[]) {
  return {
    chunksOutstanding: new KnownGauge({
      name: "rcpt_chunks_outstanding",
      help: "Tasks of bulk jobs that are not done, as the relay last counted them.",
      registers,
    }),
    rowsDeferred: new KnownGauge({
      name: "rcpt_rows_deferred",
      help: "Rows of bulk jobs that wait to be asked about again, by reason, as the relay last counted them.",
      labelNames: ["reason"],
      registers,
    }),
    jobs: new KnownGauge({
      name: "rcpt_jobs",
      help: "Bulk jobs that have not ended, by state, as the relay last counted them.",
      labelNames: ["state"],
      registers,
    }),
    oldestChunkAge: new KnownGauge({
      name: "rcpt_oldest_chunk_age_seconds",
      help: "Since when the oldest chunk of a job under way is in a stream or in a worker's hands; 0: none is.",
      registers,
    }),
    streamLag: new KnownGauge({
      name: "rcpt_stream_lag",
      help: "Entries of a stream that no worker has taken; where Redis cannot tell, its length less those taken.",
      labelNames: ["stream"],
      registers,
    }),
    streamPending: new KnownGauge({
      name: "rcpt_stream_pending",
      help: "Entries of a stream in workers' hands.",
      labelNames: ["stream"],
      registers,
    }),
    deadLetters: new KnownGauge({
      name: "rcpt_dead_letters",
      help: "Tasks that were given up, of which Redis keeps the newest thousand or so.",
      registers,
    }),
    countedAt: new KnownGauge({
      name: "rcpt_metrics_counted_timestamp_seconds",
      help: "When this relay last counted all of the pipeline, in seconds since 1970.",
      registers,
    }),
  };
}

function workerSeries(registers: Registry[]) {
  return {
    bulkRows: new Counter({
      name: "rcpt_bulk_rows_total",
      help: "Rows of jobs that were answered for good, repeats included, by the kind of task.",
      labelNames: ["kind"],
      registers,
    }),
    bulkRowsPutOff: new Counter({
      name: "rcpt_bulk_rows_put_off_total",
      help: "Rows of jobs that were put off to be asked about again, each time they were, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    bulkTasks: new Counter({
      name: "rcpt_bulk_tasks_total",
      help: "Tasks by kind and outcome: done, handed_back (to other workers), failed (tried again), dead (given up).",
      labelNames: ["kind", "outcome"],
      registers,
    }),
    bulkTaskSeconds: new Durations({
      name: "rcpt_bulk_task_duration_seconds",
      help: "Time of a task that was done, from when it was begun for the last time.",
      label: "kind",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800],
      registers,
    }),
    bulkPlaces: new Gauge({
      name: "rcpt_bulk_places",
      help: "Tasks that a worker takes at once, by lane.",
      labelNames: ["lane"],
      registers,
    }),
  };
}

/** A lane of a worker. */
export interface LaneLoad {
  lane: "tasks" | "whole" | "retry";
  places: number;
  held(): number;
}

type PipelineSeries = ReturnType<typeof pipelineSeries> & { registry: Registry };

/** Adds the gauges of a worker's lanes: read when scraped. */
export function observeLanes(metrics: PipelineSeries, lanes: readonly LaneLoad[]): void {
  for (const { lane, places } of lanes) metrics.bulkPlaces.set({ lane }, places);
  new Gauge({
    name: "rcpt_bulk_places_in_use",
    help: "Tasks in a worker's hands that take a place, by lane.",
    labelNames: ["lane"],
    registers: [metrics.registry],
    collect() {
      for (const { lane, held } of lanes) this.set({ lane }, held());
    },
  });
}
