import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { composeTaskMetrics, countReturnedTasks, watchWorkQueues } from "../../../src/app/task-metrics.ts";
import type { WorkQueue } from "../../../src/features/bulk/run/work-queue.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { valueIn } from "../../support/metrics.ts";

const NONE = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
const deferral = (reason: string, rowCount: number) => ({
  ...{ rowSet: Buffer.of(1), rowCount, site: "site.test", egress: "e", reason },
  ...{ dueInMs: 0, deferredMs: 0, attempts: 1 },
});

async function told(work: (metrics: ReturnType<typeof createMetrics>) => void) {
  const metrics = createMetrics();
  work(metrics);
  const text = await metrics.registry.metrics();
  return (name: string, labels?: Record<string, string>) => valueIn(text, name, labels);
}

describe("the metrics of tasks", () => {
  it("is there before anything happens, so that the first of each is an increase", async () => {
    const value = await told((metrics) => void composeTaskMetrics(metrics));
    assert.equal(value("rcpt_bulk_tasks_total", { kind: "chunk", outcome: "dead" }), 0);
    assert.equal(value("rcpt_bulk_tasks_total", { kind: "assembly", outcome: "handed_back" }), 0);
    assert.equal(value("rcpt_bulk_rows_total", { kind: "retry" }), 0);
  });

  it("is its end, and of those that are done the time", async () => {
    const value = await told((metrics) => {
      const { onEnd } = composeTaskMetrics(metrics);
      onEnd("chunk", "done", 0.2);
      onEnd("chunk", "failed", 9);
      onEnd("chunk", "dead", 9);
    });
    for (const outcome of ["done", "failed", "dead"])
      assert.equal(value("rcpt_bulk_tasks_total", { kind: "chunk", outcome }), 1);
    assert.equal(value("rcpt_bulk_task_duration_seconds_count", { kind: "chunk" }), 1);
    assert.equal(value("rcpt_bulk_task_duration_seconds_sum", { kind: "chunk" }), 0.2);
  });

  it("is the rows that it answered, and those that it put off", async () => {
    const value = await told((metrics) => {
      const counts = { ...NONE, valid: 5, invalid: 3, risky: 2, unknown: 1, charged: 10 };
      const deferrals = [deferral("greylisted", 4), deferral("busy", 2), deferral("greylisted", 1)];
      composeTaskMetrics(metrics).onRows("chunk", { shardKey: "shard", counts, providers: [], deferrals });
    });
    assert.equal(value("rcpt_bulk_rows_total", { kind: "chunk" }), 11);
    assert.equal(value("rcpt_bulk_rows_put_off_total", { reason: "greylisted" }), 5);
    assert.equal(value("rcpt_bulk_rows_put_off_total", { reason: "busy" }), 2);
  });

  it("is what was handed back, by where it came from", async () => {
    const value = await told((metrics) => {
      countReturnedTasks(metrics, "tasks")({ jobId: "job_1", number: 3 });
      countReturnedTasks(metrics, "retry")({ jobId: "job_1", number: 9 });
      countReturnedTasks(metrics, "whole")({ jobId: "job_1", number: -1 });
      countReturnedTasks(metrics, "whole")({ jobId: "job_1", number: 12 });
    });
    for (const kind of ["chunk", "retry", "analysis", "assembly"])
      assert.equal(value("rcpt_bulk_tasks_total", { kind, outcome: "handed_back" }), 1, kind);
  });

  it("is how full each lane is, whenever it is asked", async () => {
    const lane = (held: number) =>
      ({ held: () => Array.from({ length: held }, () => ({})) }) as unknown as WorkQueue;
    const value = await told((metrics) =>
      watchWorkQueues(metrics, [
        { lane: "tasks", places: 8, of: lane(3) },
        { lane: "retry", places: 4, of: lane(0) },
      ]),
    );
    assert.deepEqual(
      ["tasks", "retry"].map((lane) => [
        value("rcpt_bulk_places", { lane }),
        value("rcpt_bulk_places_in_use", { lane }),
      ]),
      [
        [8, 3],
        [4, 0],
      ],
    );
  });
});
