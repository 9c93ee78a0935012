import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalSlots } from "../../support/local-slots.ts";

describe("local slots", () => {
  it("hands out no more than the cap of a site, each site for itself", async () => {
    const slots = createLocalSlots(createFakeClock());
    assert.equal(await slots.acquire("a", 2, 0), true);
    assert.equal(await slots.acquire("a", 2, 0), true);
    assert.equal(await slots.acquire("a", 2, 0), false);
    assert.equal(await slots.acquire("b", 2, 0), true);
    assert.deepEqual(slots.stats(), { held: 3, waiting: 0 });
  });

  it("serves waiters in order, without overtaking", async () => {
    const slots = createLocalSlots(createFakeClock());
    await slots.acquire("a", 1, 0);
    const order: string[] = [];
    const first = slots.acquire("a", 1, 100).then(() => order.push("first"));
    const second = slots.acquire("a", 1, 100).then(() => order.push("second"));
    slots.release("a");
    assert.equal(await slots.acquire("a", 2, 0), false);
    await first;
    slots.release("a");
    await second;
    assert.deepEqual(order, ["first", "second"]);
  });

  it("lets a waiter go after its time", async () => {
    const clock = createFakeClock();
    const slots = createLocalSlots(clock);
    await slots.acquire("a", 1, 0);
    const waiting = slots.acquire("a", 1, 100);
    clock.advance(99);
    assert.equal(slots.stats().waiting, 1);
    clock.advance(1);
    assert.equal(await waiting, false);
    slots.release("a");
    assert.deepEqual([slots.stats().held, clock.pending], [0, 0]);
  });

  it("reports that a caller waits, and only then", async () => {
    const slots = createLocalSlots(createFakeClock());
    const wanted: string[] = [];
    slots.onWanted((site) => wanted.push(site));
    await slots.acquire("a", 1, 100);
    await slots.acquire("a", 1, 0);
    assert.deepEqual(wanted, []);
    const waiting = slots.acquire("a", 1, 100);
    assert.deepEqual(wanted, ["a"]);
    slots.close();
    assert.equal(await waiting, false);
  });

  it("treats a release without a slot as a bug", () => {
    assert.throws(() => createLocalSlots(createFakeClock()).release("a"), /nobody held/);
  });
});
