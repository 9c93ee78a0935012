import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createEgressSlots } from "../../../src/egress/egress-slots.ts";
import { createSiteCaps } from "../../../src/egress/site-caps.ts";
import type { SlotStatement } from "../../../src/egress/slot-leases.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const { crowdedEveryMs, raiseEveryMs } = LIMITS.learned;

/** A process beside a store that grants all that is asked for. */
function setUp() {
  const clock = createFakeClock();
  const calls: SlotStatement[][] = [];
  const slots = createEgressSlots({
    leases: {
      async report(statements) {
        calls.push([...statements]);
        return statements.map(({ want }) => ({ granted: want, excess: 0 }));
      },
      listen: () => {},
    },
    caps: createSiteCaps({ clock, onReduced: () => {} }),
    clock,
    log: createLog("silent"),
  });
  slots.start();
  const pressed: string[] = [];
  slots.onWanted((site) => pressed.push(site));
  const fill = async (count: number, max: number) => {
    for (let i = 0; i < count; i++) assert.equal(await slots.acquire("a", max, 0), true);
  };
  return { clock, slots, calls, pressed, fill };
}

describe("a cap that the site has taught", () => {
  it("limits this process, and is not announced to the others", async () => {
    const { slots, fill, calls } = setUp();
    await fill(6, 10);
    slots.onCrowded("a");
    for (let i = 0; i < 4; i++) slots.release("a");
    assert.equal(await slots.acquire("a", 10, 0), true);
    assert.equal(await slots.acquire("a", 10, 0), false, "three, half of six");
    assert.deepEqual(new Set(calls.flat().map(({ max }) => max)), new Set([10]));
  });

  it("is above the connections held, and absent for a site without any", async () => {
    const { slots } = setUp();
    slots.onCrowded("a");
    assert.equal(await slots.acquire("a", 2, 0), true);
    assert.equal(await slots.acquire("a", 2, 0), true);
  });

  it("makes holders above it close once a caller waits, so that it is served", async () => {
    const { clock, slots, fill, pressed } = setUp();
    await fill(6, 10);
    slots.onCrowded("a");
    assert.deepEqual(pressed, [], "as long as nobody waits they stay");
    let served = false;
    const waiting = slots.acquire("a", 10, 60_000).then((granted) => {
      served = granted;
    });
    await clock.advanceAsync(0);
    assert.equal(pressed.length, 3 + 1, "what is too much, and one for him");
    for (let i = 0; i < 3; i++) slots.release("a");
    await clock.advanceAsync(0);
    assert.equal(served, false);
    slots.release("a");
    await waiting;
    assert.equal(served, true);
  });

  it("that falls while a caller waits makes them close too", async () => {
    const { clock, slots, fill, pressed } = setUp();
    await fill(6, 6);
    void slots.acquire("a", 6, 60_000);
    await clock.advanceAsync(0);
    const before = pressed.length;
    slots.onCrowded("a");
    assert.equal(pressed.length - before, 3);
  });

  it("grows also for a waiter that asks no more", async () => {
    const { clock, slots, fill } = setUp();
    await fill(4, 10);
    slots.onCrowded("a");
    for (let i = 0; i < 2; i++) slots.release("a");
    await clock.advanceAsync(crowdedEveryMs);
    let served = false;
    void slots.acquire("a", 10, 60_000).then((granted) => {
      served = granted;
    });
    await clock.advanceAsync(raiseEveryMs - 2 * crowdedEveryMs);
    assert.equal(served, false);
    await clock.advanceAsync(2 * crowdedEveryMs);
    assert.equal(served, true);
  });
});
