import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLifecycle, type LifecyclePart } from "../../../src/platform/lifecycle.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const GRACE_MS = 10_000;
const LEAVE_MS = 3_000;

function life(parts: LifecyclePart[], leaveMs = 0) {
  const clock = createFakeClock();
  const log = createLog("silent");
  return { clock, lifecycle: createLifecycle(parts, { log, clock, graceMs: GRACE_MS, leaveMs }) };
}

function recorded(name: string, events: string[], changes: Partial<LifecyclePart> = {}): LifecyclePart {
  const note = (verb: string) => () => void events.push(`${verb} ${name}`);
  return { name, start: note("start"), drain: note("drain"), stop: note("stop"), ...changes };
}

describe("lifecycle", () => {
  it("starts in order, drains all before it stops any, both in reverse", async () => {
    const events: string[] = [];
    const { lifecycle } = life([recorded("a", events), recorded("b", events)]);
    await lifecycle.start();
    assert.equal(lifecycle.state, "running");
    await lifecycle.stop();
    assert.deepEqual(events, ["start a", "start b", "drain b", "drain a", "stop b", "stop a"]);
    assert.equal(lifecycle.state, "stopped");
  });

  it("stops what had started when a part fails to, and passes the error on", async () => {
    const events: string[] = [];
    const failing = recorded("b", events, {
      start: () => {
        throw new Error("no port");
      },
    });
    const { lifecycle } = life([recorded("a", events), failing, recorded("c", events)]);
    await assert.rejects(lifecycle.start(), /no port/);
    assert.ok(events.includes("stop a"));
    assert.ok(!events.some((event) => event.endsWith(" c")));
  });

  it("does not wait for ever for a part that hangs", async () => {
    const events: string[] = [];
    const hanging = recorded("b", events, { drain: () => new Promise<void>(() => {}) });
    const { lifecycle, clock } = life([recorded("a", events), hanging]);
    await lifecycle.start();
    const stopped = lifecycle.stop();
    await clock.advanceAsync(GRACE_MS);
    await stopped;
    assert.deepEqual(events.slice(-3), ["drain a", "stop b", "stop a"]);
  });

  it("leaves those behind a part that hangs time to give back what they hold", async () => {
    const events: string[] = [];
    const slow = recorded("a", events, {
      drain: () =>
        new Promise<void>((resolve) => {
          clock.after(GRACE_MS / 10, () => {
            events.push("drained a");
            resolve();
          });
        }),
    });
    const hanging = recorded("b", events, { drain: () => new Promise<void>(() => {}) });
    const { lifecycle, clock } = life([slow, hanging]);
    await lifecycle.start();
    const stopped = lifecycle.stop();
    await clock.advanceAsync(GRACE_MS);
    await stopped;
    assert.deepEqual(events.slice(-3), ["drained a", "stop b", "stop a"]);
  });

  it("goes on when a part fails on its way down", async () => {
    const events: string[] = [];
    const failing = recorded("b", events, { stop: () => Promise.reject(new Error("broken pipe")) });
    const { lifecycle } = life([recorded("a", events), failing]);
    await lifecycle.start();
    await lifecycle.stop();
    assert.equal(events.at(-1), "stop a");
  });

  it("starts no further part once it is stopped", async () => {
    const events: string[] = [];
    let begun = () => {};
    const slow = recorded("a", events, {
      start: () =>
        new Promise<void>((resolve) => {
          begun = resolve;
        }),
    });
    const { lifecycle } = life([slow, recorded("b", events)]);
    const starting = lifecycle.start();
    const stopped = lifecycle.stop();
    begun();
    await Promise.all([starting, stopped]);
    assert.deepEqual(events, ["drain a", "stop a"]);
    assert.equal(lifecycle.state, "stopped");
  });

  it("starts nothing after it was stopped", async () => {
    const events: string[] = [];
    const { lifecycle } = life([recorded("a", events)]);
    await lifecycle.stop();
    await lifecycle.start();
    assert.deepEqual(events, []);
    assert.equal(lifecycle.state, "stopped");
  });

  it("stops once when a part fails to start because it is being stopped", async () => {
    const events: string[] = [];
    let fail = (_: Error) => {};
    const waiting = recorded("b", events, {
      start: () =>
        new Promise<void>((_, reject) => {
          fail = reject;
        }),
      drain: () => fail(new Error("closed")),
    });
    const { lifecycle } = life([recorded("a", events), waiting]);
    const starting = assert.rejects(lifecycle.start(), /closed/);
    await new Promise(setImmediate);
    await Promise.all([starting, lifecycle.stop()]);
    assert.deepEqual(events, ["start a", "drain a", "stop b", "stop a"]);
  });

  it("stops once, however often it is asked", async () => {
    const events: string[] = [];
    const { lifecycle } = life([recorded("a", events)]);
    await lifecycle.start();
    await Promise.all([lifecycle.stop(), lifecycle.stop(), lifecycle.stop()]);
    assert.equal(events.filter((event) => event === "stop a").length, 1);
  });

  it("has all leave and waits before it drains any, within its grace", async () => {
    const events: string[] = [];
    const leaving = (name: string): LifecyclePart =>
      recorded(name, events, { leave: () => void events.push(`leave ${name}`) });
    const hanging = recorded("c", events, { drain: () => new Promise<void>(() => {}) });
    const { lifecycle, clock } = life([leaving("a"), leaving("b"), hanging], LEAVE_MS);
    await lifecycle.start();
    events.length = 0;
    const stopped = lifecycle.stop();
    assert.deepEqual([lifecycle.state, events], ["leaving", ["leave b", "leave a"]]);
    await clock.advanceAsync(LEAVE_MS - 1);
    assert.deepEqual([lifecycle.state, events.length], ["leaving", 2]);
    await clock.advanceAsync(1);
    assert.equal(lifecycle.state, "draining");
    await clock.advanceAsync(GRACE_MS - LEAVE_MS);
    await stopped;
    assert.deepEqual(events.slice(2), ["drain b", "drain a", "stop c", "stop b", "stop a"]);
  });

  it("does not wait for balancers when it has not served yet", async () => {
    const events: string[] = [];
    let begun = () => {};
    const slow = recorded("a", events, {
      start: () =>
        new Promise<void>((resolve) => {
          begun = resolve;
        }),
    });
    const { lifecycle } = life([slow], LEAVE_MS);
    const starting = lifecycle.start();
    const stopped = lifecycle.stop();
    begun();
    await Promise.all([starting, stopped]);
    assert.equal(lifecycle.state, "stopped");
  });

  it("waits no longer when it is hurried, before it is stopped too", async () => {
    for (const early of [true, false]) {
      const { lifecycle } = life([recorded("a", [])], LEAVE_MS);
      await lifecycle.start();
      if (early) lifecycle.hurry();
      const stopped = lifecycle.stop();
      lifecycle.hurry();
      await stopped;
      assert.equal(lifecycle.state, "stopped");
    }
  });
});
