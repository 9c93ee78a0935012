import { Counter, Gauge, type Registry } from "prom-client";
import { ClearableGauge, DurationHistogram } from "../telemetry/custom-metrics.ts";

/** Bulk jobs: the work of the whole deployment, counted by each relay, and the work of each worker. */
export function pipelineSeries(registers: Registry[]) {
  return { ...deploymentSeries(registers), ...workerSeries(registers) };
}

/** Each relay counts the whole deployment: with several relays take the maximum. Absent when the count failed. */
function deploymentSeries(registers: Registry[]) {
  return {
    chunksOutstanding: new ClearableGauge({
      name: "rcpt_chunks_outstanding",
      help: "Unfinished tasks of bulk jobs, as last counted by the relay.",
      registers,
    }),
    rowsDeferred: new ClearableGauge({
      name: "rcpt_rows_deferred",
      help: "Deferred rows of bulk jobs, by reason, as last counted by the relay.",
      labelNames: ["reason"],
      registers,
    }),
    jobs: new ClearableGauge({
      name: "rcpt_jobs",
      help: "Unfinished bulk jobs, by state, as last counted by the relay.",
      labelNames: ["state"],
      registers,
    }),
    oldestChunkAge: new ClearableGauge({
      name: "rcpt_oldest_chunk_age_seconds",
      help: "Age of the oldest chunk of an active job in a stream or with a worker; 0: none.",
      registers,
    }),
    streamLag: new ClearableGauge({
      name: "rcpt_stream_lag",
      help: "Stream entries that no worker has taken; where Redis does not count them, the length less the taken ones.",
      labelNames: ["stream"],
      registers,
    }),
    streamPending: new ClearableGauge({
      name: "rcpt_stream_pending",
      help: "Stream entries in workers' hands.",
      labelNames: ["stream"],
      registers,
    }),
    deadLetters: new ClearableGauge({
      name: "rcpt_dead_letters",
      help: "Dead letters: tasks given up; Redis keeps about the newest thousand.",
      registers,
    }),
    countedAt: new ClearableGauge({
      name: "rcpt_metrics_counted_timestamp_seconds",
      help: "When this relay last counted the whole pipeline, in seconds since 1970.",
      registers,
    }),
  };
}

function workerSeries(registers: Registry[]) {
  return {
    bulkRows: new Counter({
      name: "rcpt_bulk_rows_total",
      help: "Rows of jobs with a final answer, repeats included, by kind of task.",
      labelNames: ["kind"],
      registers,
    }),
    bulkRowsPutOff: new Counter({
      name: "rcpt_bulk_rows_put_off_total",
      help: "Deferrals of rows of jobs, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    bulkTasks: new Counter({
      name: "rcpt_bulk_tasks_total",
      help: "Tasks by kind and outcome: done, handed_back (to other workers), failed (retried), dead (given up).",
      labelNames: ["kind", "outcome"],
      registers,
    }),
    bulkTaskSeconds: new DurationHistogram({
      name: "rcpt_bulk_task_duration_seconds",
      help: "Duration of a finished task, from its last start.",
      label: "kind",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800],
      registers,
    }),
    bulkPlaces: new Gauge({
      name: "rcpt_bulk_places",
      help: "Maximum concurrent tasks of a worker, by work queue.",
      labelNames: ["lane"],
      registers,
    }),
  };
}

/** A worker's work queue. */
export interface WorkQueueLoad {
  lane: "tasks" | "whole" | "retry";
  places: number;
  held(): number;
}

type PipelineSeries = ReturnType<typeof pipelineSeries> & { registry: Registry };

/** Adds the gauges of a worker's work queues: read when scraped. */
export function observeWorkQueues(metrics: PipelineSeries, lanes: readonly WorkQueueLoad[]): void {
  for (const { lane, places } of lanes) metrics.bulkPlaces.set({ lane }, places);
  new Gauge({
    name: "rcpt_bulk_places_in_use",
    help: "Tasks that use a slot of a worker, by work queue.",
    labelNames: ["lane"],
    registers: [metrics.registry],
    collect() {
      for (const { lane, held } of lanes) this.set({ lane }, held());
    },
  });
}
