import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CounterSet } from "../../../../src/platform/leasing/counter-set.ts";

const counter = (isIdle: boolean) => ({ isIdle, isForgotten: false });

describe("the counters of a process", () => {
  it("forget idle ones when there is no room for another, and say so to those that remember them", () => {
    const counters = new CounterSet<{ isIdle: boolean; isForgotten: boolean }>(2);
    const idle = counters.add("idle", counter(true));
    const busy = counters.add("busy", counter(false));
    assert.equal(counters.get("idle"), idle, "as long as there is room");
    const third = counters.add("third", counter(false));
    assert.deepEqual([...counters.all()], [busy, third]);
    assert.deepEqual([idle.isForgotten, busy.isForgotten], [true, false]);
    assert.equal(counters.get("idle"), undefined);
  });

  it("take no other one when all are in use", () => {
    const counters = new CounterSet<{ isIdle: boolean; isForgotten: boolean }>(1);
    const busy = counters.add("busy", counter(false));
    assert.throws(() => counters.add("other", counter(false)), { code: "overloaded" });
    assert.deepEqual([...counters.all()], [busy]);
  });
});
