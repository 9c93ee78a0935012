import assert from "node:assert/strict";
import { hostname } from "node:os";
import { after, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { startTracing, type Tracing } from "../../../../src/platform/telemetry/otel.ts";
import type { Span, Tracer } from "../../../../src/platform/telemetry/tracing.ts";
import { VERSION } from "../../../../src/platform/version.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { startOtlpReceiver } from "../../../support/otlp-receiver.ts";
import { until } from "../../../support/until.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = (flags: string) => `00-${TRACE}-00f067aa0ba902b7-${flags}`;

const running: Tracing[] = [];
after(() => Promise.all(running.map((tracing) => tracing.stop())));

/** @param random what chance says each time */
function setUp(ratio: number, random = () => 0.5, endpoint = "http://127.0.0.1:9") {
  const lines: string[] = [];
  const log = createLog("warn", {}, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const clock = createFakeClock();
  const dropped: number[] = [];
  // Nothing is sent where no span has an end.
  const config = { endpoint, headers: new Map(), serviceName: "rcpt", ratio };
  const onDropped = (spans: number) => void dropped.push(spans);
  const tracing = startTracing(config, { clock, log, role: "api", onDropped, random });
  running.push(tracing);
  /** So many spans, one after another. */
  function endSpans(count: number): void {
    const root = { traceId: TRACE, spanId: "00f067aa0ba902b7" };
    for (let i = 0; i < count; i++) tracing.tracer.startTask(root, "chunk", 0).end();
  }
  const lost = () => dropped.reduce((sum, spans) => sum + spans, 0);
  return { clock, tracing, tracer: tracing.tracer, lines, lost, endSpans };
}

const { byChance, asked, unauthenticated: strangers } = LIMITS.tracing.requestsPerS;

/** The span of an authenticated request with this `traceparent`. */
function known(tracer: Tracer, header: string): Span | null {
  const sampled = tracer.sample(header);
  return sampled === null ? null : tracer.startRequest("GET", sampled, 0);
}

/** The span of an unauthenticated request. */
function stranger(tracer: Tracer, header: string): Span | null {
  const sampled = tracer.sample(header);
  return sampled === null ? null : tracer.startUnauthenticatedRequest("GET", sampled, 0);
}

/** Number of recorded requests out of `count`. */
function times(count: number, ask: () => Span | null): number {
  let recorded = 0;
  for (let i = 0; i < count; i++) if (ask() !== null) recorded += 1;
  return recorded;
}

describe("a request", () => {
  it("of an authenticated sender is recorded as the sender's is, whatever the ratio", () => {
    for (const ratio of [0, 1]) {
      const { tracer } = setUp(ratio);
      assert.equal(known(tracer, traceparent("01"))?.traceId, TRACE);
      assert.equal(tracer.sample(traceparent("00")), null);
    }
  });

  it("is recorded by chance where its sender says nothing, or nothing that can be read", () => {
    for (const header of [
      "",
      "nonsense",
      traceparent("01").toUpperCase(),
      `ff${traceparent("01").slice(2)}`,
    ]) {
      assert.deepEqual(setUp(0.6).tracer.sample(header), { parent: null });
      assert.equal(setUp(0.5).tracer.sample(header), null);
      assert.equal(setUp(0).tracer.sample(header), null);
    }
  });

  it("of an authenticated sender is recorded up to a bound of its kind in a second", () => {
    const { tracer, clock } = setUp(1);
    const recorded = (header: string) => times(3 * byChance, () => known(tracer, header));
    for (let second = 0; second < 3; second++) {
      assert.deepEqual([recorded(traceparent("01")), recorded("")], [asked, byChance]);
      clock.advance(999);
      assert.deepEqual([recorded(traceparent("01")), recorded("")], [0, 0]);
      assert.equal(tracer.sample(""), null);
      assert.equal(tracer.sample(traceparent("01")), null);
      clock.advance(1);
    }
  });

  it("of unauthenticated senders uses no share of others, though a thousand come in each second", () => {
    for (const [header, ratio] of [
      [traceparent("01"), 0],
      [traceparent("01"), 1],
      ["", 1],
    ] as const) {
      const { tracer, clock } = setUp(ratio);
      for (let second = 0; second < 3; second++) {
        assert.equal(
          times(1_000, () => stranger(tracer, header)),
          ratio * strangers,
        );
        assert.equal(
          times(asked, () => known(tracer, traceparent("01"))),
          asked,
        );
        if (ratio === 1)
          assert.equal(
            times(byChance, () => known(tracer, "")),
            byChance,
          );
        clock.advance(1_000);
      }
    }
  });

  it("takes nothing of the second where its sender records nothing", () => {
    const { tracer } = setUp(0);
    assert.equal(
      times(1_000, () => known(tracer, traceparent("00"))),
      0,
    );
    assert.equal(
      times(asked, () => known(tracer, traceparent("01"))),
      asked,
    );
  });

  it("is part of its sender's trace, and its parts are of the same", () => {
    const { tracer } = setUp(0);
    const span = known(tracer, traceparent("01")) ?? assert.fail();
    assert.equal(span.traceId, TRACE);
    const child = span.child("check");
    assert.equal(child.traceId, TRACE);
    assert.equal(new Set([span.spanId, child.spanId, "00f067aa0ba902b7"]).size, 3);
  });

  it("of an unauthenticated sender is a trace of its own, with a link to the sender's, at random", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    const { tracer, tracing } = setUp(0.6, undefined, collector.url);
    stranger(tracer, traceparent("01"))?.end();
    await tracing.stop();
    const [span] = collector.spans;
    assert.deepEqual([span?.links, span?.parentSpanId, span?.traceId === TRACE], [[TRACE], "", false]);
    assert.equal(stranger(setUp(0.5).tracer, traceparent("01")), null);
  });
});

describe("a process", () => {
  it("says what it is: its version, and ids that no other has", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    for (let i = 0; i < 2; i++) {
      const { tracing, endSpans } = setUp(1, undefined, collector.url);
      endSpans(1);
      await tracing.stop();
    }
    const [one, two] = collector.spans.map(({ resource }) => resource);
    assert.equal(one?.["service.version"], VERSION);
    assert.equal(one?.["host.name"], hostname());
    assert.match(String(one?.["service.instance.id"]), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.notEqual(one?.["service.instance.id"], two?.["service.instance.id"]);
  });
});

describe("a job", () => {
  it("is recorded by all processes, or by no process", () => {
    const [one, two] = [setUp(0.3).tracer, setUp(0.3).tracer];
    const ids = Array.from({ length: 200 }, (_, i) => `job_${i}`);
    const recorded = ids.filter((id) => one.jobTrace(id) !== null);
    assert.ok(recorded.length > 0 && recorded.length < ids.length);
    assert.deepEqual(
      ids.filter((id) => two.jobTrace(id) !== null),
      recorded,
    );
    assert.deepEqual(
      recorded.map((id) => one.jobTrace(id)),
      recorded.map((id) => two.jobTrace(id)),
    );
  });

  it("has its tasks in its trace, with ids of their own, and is told as who it was said to be", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    const { tracer, tracing } = setUp(1, undefined, collector.url);
    const place = tracer.jobTrace("job_1") ?? assert.fail();
    tracer.job(place, 1_000.5, 2_000.25, { "rcpt.rows": 7 });
    const [one, two] = [tracer.startTask(place, "chunk", 0), tracer.startTask(place, "chunk", 0)];
    assert.deepEqual([one.traceId, two.traceId], [place.traceId, place.traceId]);
    assert.equal(new Set([one.spanId, two.spanId, place.spanId]).size, 3);
    await tracing.stop();
    const [job] = collector.spans;
    const { traceId, spanId, startMs, endMs, attributes } = job ?? assert.fail();
    assert.deepEqual({ traceId, spanId }, place);
    assert.deepEqual([startMs, endMs, attributes["rcpt.rows"]], [1_000.5, 2_000.25, 7]);
  });
});

describe("spans that wait", () => {
  it("are bounded, and what is beyond is counted", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    collector.behave("silent");
    const { lost, endSpans, tracing, clock, lines } = setUp(1, undefined, collector.url);
    endSpans(LIMITS.tracing.spansQueued);
    assert.equal(lost(), 0);
    endSpans(100);
    assert.equal(lost(), 100);
    const stopped = tracing.stop();
    await clock.advanceAsync(LIMITS.tracing.flushMs);
    await stopped;
    assert.equal(lost(), 100 + LIMITS.tracing.spansQueued);
    assert.ok(lines.length > 0);
    endSpans(1);
    assert.equal(lost(), 101 + LIMITS.tracing.spansQueued);
  });

  it("are lost when the collector does not take them, of which the log says so once a minute", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    collector.behave(400);
    const { lost, endSpans, clock, lines } = setUp(1, undefined, collector.url);
    const { spansPerBatch, failureQuietMs } = LIMITS.tracing;
    endSpans(3 * spansPerBatch);
    await until("all are lost", () => lost() === 3 * spansPerBatch);
    assert.deepEqual(lines, ["cannot send traces"]);
    clock.advance(failureQuietMs);
    endSpans(spansPerBatch);
    await until("those too", () => lost() === 4 * spansPerBatch);
    assert.equal(lines.length, 2);
  });

  it("are sent when the process ends", async () => {
    const collector = await startOtlpReceiver();
    after(() => collector.close());
    const { endSpans, tracing, lost } = setUp(1, undefined, collector.url);
    endSpans(LIMITS.tracing.spansPerBatch + 7);
    await tracing.stop();
    assert.deepEqual([collector.spans.length, lost()], [LIMITS.tracing.spansPerBatch + 7, 0]);
  });
});
