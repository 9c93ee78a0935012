import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HttpRequest } from "../../../src/api/request/request.ts";
import { verificationExample } from "../../../src/api/routes/verify.ts";
import { createRequestObserver } from "../../../src/api/server/observe.ts";
import type { Actor } from "../../../src/features/identity/actor.ts";
import type { WaitTimes } from "../../../src/features/verify/answer/answer-note.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { RecordedSpan } from "../../support/recorded-span.ts";

const LIMITS = { logSampleEvery: 1, successQuietMs: 0, refusalQuietMs: 0, slowRequestMs: 500 };
const ACTOR = {
  ...{ teamId: "team_1", userId: "usr_1", keyId: "key_1", isSession: false, role: "member", livemode: true },
  tier: "pro",
} as Actor;
const TIMES: WaitTimes = { cacheMs: 1.234, checkMs: 80, thread: null };

function setUp() {
  const clock = createFakeClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", {}, { write: (line) => void lines.push(JSON.parse(line)) });
  const observer = createRequestObserver({ log, metrics: createMetrics(), clock, limits: LIMITS });
  const request = new HttpRequest({
    ...{
      id: "req_1",
      method: "GET",
      path: "/v1/verify",
      rawQuery: "email=someone%40example.com",
      startedMs: 0,
    },
  });
  request.actor = ACTOR;
  function finish(status = 200, code: string | null = null): Record<string, unknown> {
    clock.advance(90);
    observer.recordFinished(request, "/v1/verify", { status, bytes: 12, code, headMs: null });
    const { time, level, msg, ...line } = lines.at(-1) ?? {};
    return line;
  }
  return { request, observer, lines, finish };
}

const WHO = { team_id: "team_1", key_id: "key_1", credential: "key", tier: "pro", livemode: true };
const WHAT = { request_id: "req_1", method: "GET", route: "/v1/verify", ms: 90, bytes: 12, ...WHO };

describe("the line of a request", () => {
  it("says who asked what, and how it ended", () => {
    assert.deepEqual(setUp().finish(429, "rate_limited"), { ...WHAT, status: 429, code: "rate_limited" });
  });

  it("says of a verification what it came to, and what that waited for", () => {
    const { request, finish } = setUp();
    request.note = { result: verificationExample, smtp: { latencyMs: 70, rule: "accepted" }, times: TIMES };
    const line = finish();
    assert.deepEqual(line, {
      ...{
        ...WHAT,
        status: 200,
        verdict: "valid",
        reason: "accepted_mailbox",
        cached: false,
        provider: "other",
      },
      ...{
        mx: "ok",
        smtp: "accepted",
        smtp_code: 250,
        smtp_rule: "accepted",
        catch_all: "refused",
        smtp_ms: 70,
      },
      ...{ cache_ms: 1.23, check_ms: 80 },
    });
    assert.equal(/someone|example\.com/.test(JSON.stringify(line)), false);
  });

  it("says of a traced one which trace it is, and where its check spent its time", () => {
    const { request, finish } = setUp();
    const thread = { slot: 1, totalMs: 75, plannedMs: 5, attempts: [] };
    request.note = { result: verificationExample, smtp: null, times: { ...TIMES, thread } };
    const span = new RecordedSpan("GET");
    request.span = span;
    const { trace_id, queue_ms, dns_ms, probe_ms, attempts } = finish();
    assert.deepEqual(
      { trace_id, queue_ms, dns_ms, probe_ms, attempts },
      {
        ...{ trace_id: span.traceId, queue_ms: 5, dns_ms: 5, probe_ms: 70, attempts: 0 },
      },
    );
    assert.equal(span.name, "GET /v1/verify");
    assert.equal(span.attributes["http.response.status_code"], 200);
    assert.notEqual(span.endMs, null);
    assert.equal(/someone|example\.com/.test(JSON.stringify(span.attributes)), false);
  });

  it("says of one that joined another's check how long it waited, and nothing of the other", () => {
    const { request, finish } = setUp();
    const times = { cacheMs: null, checkMs: null, thread: null, waitMs: 5.008 };
    request.note = { result: verificationExample, smtp: null, times };
    const { joined, wait_ms, cache_ms, check_ms } = finish();
    assert.deepEqual([joined, wait_ms, cache_ms, check_ms], [true, 5.01, undefined, undefined]);
  });

  it("marks our own failures in the span too", () => {
    const { request, finish } = setUp();
    const span = new RecordedSpan("GET");
    request.span = span;
    finish(503, "unavailable");
    assert.equal(span.failedBy, "unavailable");
  });
});
