import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interruption } from "../../../../../src/features/bulk/run/control.ts";
import { ProbeSummary } from "../../../../../src/features/bulk/run/rows-report.ts";
import { startReport, TaskReport } from "../../../../../src/features/bulk/run/task-report.ts";
import type { Task } from "../../../../../src/features/bulk/schedule/job-tasks.ts";
import type { Tracer } from "../../../../../src/platform/telemetry/tracing.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { RecordedSpan } from "../../../../support/recorded-span.ts";

const TASK = { kind: "chunk", jobId: "job_1", teamId: "team_1", number: 4, deliveries: 2 } as Task;

function setUp(span: RecordedSpan | null = null) {
  const clock = createFakeClock();
  return { clock, span, report: new TaskReport(TASK, clock, span) };
}

describe("the line of an attempt at a task", () => {
  it("says whose it is, what became of it, and how long each phase took", async () => {
    const { clock, report } = setUp();
    clock.advance(1);
    const read = await report.phase("read", async () => {
      clock.advance(20);
      return "rows";
    });
    report.add({ rows: 3, deferred: 1 });
    report.add({ deferred: 2, reason: "busy" });
    await report.phase("write shard", async () => clock.advance(4));
    await report.phase("write shard", async () => clock.advance(5));
    assert.equal(read, "rows");
    assert.deepEqual(report.end("done"), {
      ...{ job: "job_1", team_id: "team_1", number: 4, kind: "chunk", delivery: 2 },
      ...{ rows: 3, deferred: 3, reason: "busy", outcome: "done", ms: 30, read_ms: 20, write_shard_ms: 9 },
    });
  });

  it("has the time of a phase that failed, and passes on what it failed of", async () => {
    const { clock, report } = setUp();
    const error = new Error("of its own");
    const failing = report.phase("read", async () => {
      clock.advance(7);
      throw error;
    });
    await assert.rejects(failing, error);
    assert.equal(report.end("failed").read_ms, 7);
  });
});

describe("the span of an attempt", () => {
  it("has its phases as children, and says what the line says", async () => {
    const span = new RecordedSpan("chunk");
    const { report } = setUp(span);
    await report.phase("read", async () => {});
    report.add({ rows: 3 });
    assert.equal(report.end("done").trace_id, span.traceId);
    assert.deepEqual(
      span.children.map(({ name, failedBy, endMs }) => [name, failedBy, endMs !== null]),
      [["read", null, true]],
    );
    assert.deepEqual(span.attributes, {
      ...{ "rcpt.job": "job_1", "rcpt.team.id": "team_1", "rcpt.number": 4, "rcpt.kind": "chunk" },
      ...{ "rcpt.delivery": 2, "rcpt.rows": 3, "rcpt.outcome": "done" },
    });
    assert.deepEqual([span.failedBy, span.endMs !== null], [null, true]);
  });

  it("is no error where the task waits or is not wanted any more, and says which", async () => {
    for (const end of ["waits", "cancelled"] as const) {
      const span = new RecordedSpan("chunk");
      const { report } = setUp(span);
      await report.phase("read", () => Promise.reject(new Interruption("away"))).catch(() => undefined);
      report.end(end);
      assert.deepEqual([span.children[0]?.failedBy, span.failedBy], [null, null]);
      assert.equal(span.children[0]?.attributes["rcpt.interrupted"], true);
      assert.equal(span.attributes["rcpt.outcome"], end);
    }
  });

  it("is an error where it failed or is given up", async () => {
    for (const end of ["failed", "dead"] as const) {
      const span = new RecordedSpan("chunk");
      const { report } = setUp(span);
      await report.phase("read", () => Promise.reject(new Error("wrong"))).catch(() => undefined);
      report.end(end);
      assert.deepEqual([span.children[0]?.failedBy, span.failedBy], ["failed", end]);
    }
  });

  it("is there where the job is traced alone", () => {
    const span = new RecordedSpan("chunk");
    const place = { traceId: "a".repeat(32), spanId: "c".repeat(16) };
    const tracer = (traced: boolean) =>
      ({ jobTrace: () => (traced ? place : null), startTask: () => span }) as unknown as Tracer;
    const clock = createFakeClock();
    assert.equal(startReport(TASK, clock, null).span, null);
    assert.equal(startReport(TASK, clock, tracer(false)).span, null);
    assert.equal(startReport(TASK, clock, tracer(true)).span, span);
  });
});

describe("the probes of a task", () => {
  it("are counted by what they came to, and the slowest is named by its server", () => {
    const span = new RecordedSpan("chunk");
    const { report } = setUp(span);
    const summary = new ProbeSummary();
    const saw = (smtp: Parameters<typeof smtpWith>[0] | null, cached = false) => {
      const evidence = evidenceWith({ smtp: smtp === null ? null : smtpWith(smtp) });
      const entry = { evidence, storedAt: 0, ttlS: 1 };
      summary.onAnswer(
        { finding: cached ? { entry, cached: true } : { entry, cached: false } },
        "plain.test",
      );
    };
    saw({ latencyMs: 4, mxHost: "mx1.plain.test" });
    saw({ latencyMs: 9, mxHost: "mx2.plain.test", class: "greylisted" });
    saw({ latencyMs: 6, mxHost: "mx3.plain.test" });
    saw({ latencyMs: 90 }, true);
    saw(null);
    summary.onAnswer({ deferred: { site: "mx4.plain.test", cause: "busy" } }, "plain.test");
    summary.addTo(report);
    assert.deepEqual(span.attributes, {
      ...{ "rcpt.probes.accepted": 2, "rcpt.probes.greylisted": 1 },
      ...{ "rcpt.slowest.host": "mx2.plain.test", "rcpt.slowest.ms": 9 },
    });
  });

  it("do not name a server that is called as the row's domain is", () => {
    const span = new RecordedSpan("chunk");
    const { report } = setUp(span);
    const summary = new ProbeSummary();
    const evidence = evidenceWith({ smtp: smtpWith({ latencyMs: 9, mxHost: "plain.test" }) });
    summary.onAnswer({ finding: { entry: { evidence, storedAt: 0, ttlS: 1 }, cached: false } }, "plain.test");
    summary.addTo(report);
    assert.deepEqual(span.attributes, { "rcpt.probes.accepted": 1, "rcpt.slowest.ms": 9 });
  });
});
