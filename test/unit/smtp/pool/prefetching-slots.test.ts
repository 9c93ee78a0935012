import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPrefetchingSlots } from "../../../../src/smtp/pool/prefetching-slots.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createLocalSlots } from "../../../support/local-slots.ts";

function setUp() {
  const clock = createFakeClock();
  const inner = createLocalSlots(clock);
  const slots = createPrefetchingSlots(inner, clock);
  const wanted: string[] = [];
  slots.onWanted((site) => wanted.push(site));
  return { clock, inner, slots, wanted };
}

describe("slots that are foreseen", () => {
  it("are there for who asks, one of a site", async () => {
    const { clock, inner, slots } = setUp();
    slots.prefetch("a.test", 2);
    slots.prefetch("a.test", 2);
    assert.equal(inner.stats().held, 1);
    assert.equal(await slots.acquire("a.test", 2, 0), true);
    assert.equal(inner.stats().held, 1);
    assert.equal(await slots.acquire("a.test", 2, 0), true);
    await clock.advanceAsync(LIMITS.smtp.prefetchedSlotMs);
    assert.equal(inner.stats().held, 2);
    slots.release("a.test");
    slots.release("a.test");
    assert.deepEqual([inner.stats().held, clock.pending], [0, 0]);
  });

  it("go back when none is asked for in time", async () => {
    const { clock, inner, slots } = setUp();
    slots.prefetch("a.test", 1);
    await clock.advanceAsync(LIMITS.smtp.prefetchedSlotMs - 1);
    assert.equal(inner.stats().held, 1);
    await clock.advanceAsync(1);
    assert.equal(inner.stats().held, 0);
  });

  it("go back when somebody else waits, and no session is asked for", async () => {
    const { inner, slots, wanted } = setUp();
    slots.prefetch("a.test", 1);
    assert.equal(await inner.acquire("a.test", 1, 1_000), true);
    assert.deepEqual(wanted, []);
    inner.release("a.test");
    assert.equal(inner.stats().held, 0);
  });

  it("that are refused leave who asks to wait for one", async () => {
    const { inner, slots } = setUp();
    await inner.acquire("a.test", 1, 0);
    slots.prefetch("a.test", 1);
    const waiting = slots.acquire("a.test", 1, 1_000);
    inner.release("a.test");
    assert.equal(await waiting, true);
  });
});
