import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HttpRequest } from "../../../../src/api/request/request.ts";
import { createRequestObserver } from "../../../../src/api/server/observe.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const LIMITS = { logSampleEvery: 100, successQuietMs: 0, refusalQuietMs: 1_000, slowRequestMs: 500 };

function setUp(limits = LIMITS) {
  const clock = createFakeClock();
  const metrics = createMetrics();
  const statuses: number[] = [];
  const log = createLog("info", {}, { write: (line) => void statuses.push(JSON.parse(line).status) });
  const observer = createRequestObserver({ log, metrics, clock, limits });
  /** One request that took `ms` and ended in `status`. */
  function finish(status: number, ms = 0, method = "GET", code: string | null = null): void {
    const startedMs = clock.monotonic();
    const request = new HttpRequest({ id: "req_1", method, path: "/x", rawQuery: "", startedMs });
    clock.advance(ms);
    observer.recordFinished(request, "/x", { status, bytes: 0, code, headMs: null });
  }
  return { clock, metrics, statuses, finish };
}

describe("the log of requests", () => {
  it("is limited for unauthenticated requests to one line in a hundred refusals, and one a second", () => {
    const { clock, statuses, finish } = setUp();
    for (let i = 0; i < 1_000; i++) finish(401);
    assert.equal(statuses.length, 11, "the first, then one in a hundred");
    clock.advance(LIMITS.refusalQuietMs);
    finish(404);
    assert.deepEqual(statuses.slice(11), [404], "the first after a quiet time");
  });

  it("holds no two successes within a quiet time, however many there are", () => {
    const { clock, statuses, finish } = setUp({ ...LIMITS, successQuietMs: 20 });
    for (let i = 0; i < 1_000; i++) finish(200);
    assert.equal(statuses.length, 1, "one in a hundred, the first of them");
    clock.advance(20);
    for (let i = 0; i < 1_000; i++) finish(200);
    assert.equal(statuses.length, 2);
  });

  it("holds no more of what is too much at once than of other refusals, unless it took long", () => {
    const { statuses, finish } = setUp();
    for (let i = 0; i < 1_000; i++) finish(503, 0, "GET", "overloaded");
    assert.equal(statuses.length, 11);
    for (let i = 0; i < 5; i++) finish(503, LIMITS.slowRequestMs, "GET", "overloaded");
    for (let i = 0; i < 5; i++) finish(503, 0, "GET", "unavailable");
    assert.equal(statuses.length, 21);
  });

  it("holds every failure and every slow request", () => {
    const { statuses, finish } = setUp();
    for (let i = 0; i < 5; i++) finish(503);
    for (let i = 0; i < 5; i++) finish(200, LIMITS.slowRequestMs);
    finish(404);
    for (let i = 0; i < 2; i++) finish(404, LIMITS.slowRequestMs - 1);
    assert.deepEqual(statuses, [503, 503, 503, 503, 503, 200, 200, 200, 200, 200, 404]);
  });
});

describe("the series of requests", () => {
  it("are by route, method and status", async () => {
    const { metrics, finish } = setUp();
    for (const [status, method] of [
      [200, "GET"],
      [200, "GET"],
      [404, "GET"],
      [404, "BREW"],
    ] as const)
      finish(status, 0, method);
    const { values } = await metrics.httpRequests.get();
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.route, labels.method, labels.status, value]),
      [
        ["/x", "GET", 200, 2],
        ["/x", "GET", 404, 1],
        ["/x", "other", 404, 1],
      ],
    );
  });
});
