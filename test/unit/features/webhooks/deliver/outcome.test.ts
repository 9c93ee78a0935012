import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  type DeliveryAttempt,
  judgeAttempt,
  retryAfterMs,
} from "../../../../../src/features/webhooks/deliver/outcome.ts";
import fc from "../../../../support/properties.ts";

const NOW = Date.UTC(2026, 0, 1);
const answered = (status: number, retryAfter: string | null = null): DeliveryAttempt => ({
  answered: true,
  status,
  retryAfter,
  body: "received",
  durationMs: 12.4,
});
const judge = (attempt: DeliveryAttempt, attempts: number, random = 0.5) =>
  judgeAttempt(attempt, attempts, { random, nowMs: NOW });

/** Seconds, as API.md lists them. */
const SCHEDULE = [5, 60, 300, 1_800, 7_200, 21_600, 43_200];

describe("what becomes of a delivery", () => {
  it("succeeds by 2xx", () => {
    for (const status of [200, 201, 202, 204, 299])
      assert.deepEqual(judge(answered(status), 1), {
        status: "succeeded",
        retryInMs: null,
        responseStatus: status,
        responseBody: "received",
        error: null,
        durationMs: 12,
      });
  });

  it("is tried again by the schedule, then given up", () => {
    SCHEDULE.forEach((seconds, i) => {
      const record = judge(answered(500), i + 1);
      assert.deepEqual([record.status, record.retryInMs], ["pending", seconds * 1_000]);
    });
    const last = judge(answered(500), SCHEDULE.length + 1);
    assert.deepEqual([last.status, last.retryInMs, last.error], ["failed", null, "refused"]);
  });

  it("is tried again within a fifth of the schedule, spread over all of it", () => {
    assert.equal(judge(answered(500), 1, 0).retryInMs, 4_000);
    assert.ok(Math.abs((judge(answered(500), 1, 0.999_999).retryInMs ?? 0) - 6_000) < 1);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (n, random) => {
          const plannedMs = (SCHEDULE[n - 1] ?? 0) * 1_000;
          const delayMs = judge(answered(503), n, random).retryInMs ?? 0;
          assert.ok(delayMs >= plannedMs * 0.8 && delayMs <= plannedMs * 1.2);
        },
      ),
    );
  });

  it("ends at once by 410, and by no redirect", () => {
    assert.deepEqual([judge(answered(410), 1).status, judge(answered(410), 1).error], ["failed", "gone"]);
    for (const status of [300, 301, 302, 307, 308])
      assert.deepEqual(
        [judge(answered(status), 1).status, judge(answered(status), 1).error],
        ["pending", "redirected"],
      );
    for (const status of [199, 100, 400, 404, 429, 500, 599, 600, 999])
      assert.equal(judge(answered(status), 1).error, "refused", String(status));
  });

  it("keeps what went wrong where no answer came", () => {
    const record = judge({ answered: false, error: "timeout", durationMs: 15_000 }, 2);
    assert.deepEqual(record, {
      status: "pending",
      retryInMs: 60_000,
      responseStatus: null,
      responseBody: null,
      error: "timeout",
      durationMs: 15_000,
    });
  });
});

describe("Retry-After", () => {
  it("is read in seconds and as a date, and cut to the bound", () => {
    assert.equal(retryAfterMs("120", NOW), 120_000);
    assert.equal(retryAfterMs("Thu, 01 Jan 2026 00:02:00 GMT", NOW), 120_000);
    assert.equal(retryAfterMs("999999999", NOW), LIMITS.webhooks.retryAfterMaxMs);
    assert.equal(retryAfterMs("Fri, 01 Jan 2100 00:00:00 GMT", NOW), LIMITS.webhooks.retryAfterMaxMs);
    assert.equal(retryAfterMs("Wed, 31 Dec 2025 00:00:00 GMT", NOW), 0);
  });

  it("puts an attempt off and never brings it forward", () => {
    assert.equal(judge(answered(503, "120"), 1).retryInMs, 120_000);
    assert.equal(judge(answered(503, "1"), 2).retryInMs, 60_000);
    assert.equal(judge(answered(503, "120"), 8).status, "failed");
  });

  it("is nothing when it makes no sense", () => {
    for (const text of [
      "",
      "-1",
      "1.5",
      "1e9",
      "soon",
      "0x10",
      "Thu, 99 Foo 2026 00:00:00 GMT",
      "9".repeat(400),
    ])
      assert.equal(retryAfterMs(text, NOW), 0, text);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ms = retryAfterMs(text, NOW);
        assert.ok(ms >= 0 && ms <= LIMITS.webhooks.retryAfterMaxMs);
      }),
    );
  });
});
