import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { describe, it } from "node:test";
import { createIdleShare } from "../../../../src/platform/v8/idle-share.ts";

describe("the idle share of an event loop", () => {
  it("is that of the time since it was asked last", () => {
    let now = { idle: 1_000, active: 1_000, utilization: 0.5 };
    const eventLoopUtilization: typeof performance.eventLoopUtilization = (one, other) => {
      if (one === undefined || other === undefined) return now;
      const idle = one.idle - other.idle;
      const active = one.active - other.active;
      return { idle, active, utilization: active / (idle + active) };
    };
    const takeIdle = createIdleShare({ eventLoopUtilization });
    now = { idle: 1_030, active: 1_010, utilization: 0.5 };
    assert.equal(takeIdle(), 0.75);
    now = { idle: 1_030, active: 1_110, utilization: 0.5 };
    assert.equal(takeIdle(), 0);
  });

  it("is a share of Node.js' own figure", async () => {
    const takeIdle = createIdleShare(performance);
    await new Promise((resolve) => setImmediate(resolve));
    const share = takeIdle();
    assert.ok(share >= 0 && share <= 1, String(share));
  });
});
