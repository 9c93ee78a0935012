import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createEgressSlots } from "../../../src/egress/egress-slots.ts";
import { createSiteCaps } from "../../../src/egress/site-caps.ts";
import type { SlotAnswer, SlotListener, SlotStatement } from "../../../src/egress/slot-leases.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const {
  idleMs,
  renewEveryMs,
  refusalMs,
  announceEveryMs,
  intervalMs: beatMs,
  storeRetryMs: aloneMs,
} = LIMITS.slots;

/** A process beside a store that grants out of `room`, and whose answers can be held back or fail. */
function setUp(room = 1_000) {
  const clock = createFakeClock();
  const calls: SlotStatement[][] = [];
  const store = { room, mayKeep: 1_000, isDown: false, isHeld: false, timeouts: 0, answer: () => {} };
  let others: SlotListener = { onWanted: () => {}, onFreed: () => {} };

  function decide({ held, want }: SlotStatement): SlotAnswer {
    const granted = Math.min(want, store.room);
    store.room -= granted;
    return { granted, excess: Math.max(0, held - store.mayKeep) };
  }

  const slots = createEgressSlots({
    leases: {
      async report(statements) {
        calls.push([...statements]);
        if (store.isHeld) await new Promise<void>((resolve) => Object.assign(store, { answer: resolve }));
        if (store.isDown) throw new Error("down");
        if (store.timeouts > 0) {
          store.timeouts -= 1;
          await new Promise<void>((resolve) => clock.after(LIMITS.redis.commandTimeoutMs, resolve));
          throw new Error("timed out");
        }
        return statements.map(decide);
      },
      listen(listener) {
        others = listener;
      },
    },
    caps: createSiteCaps({ clock, onReduced: () => {} }),
    clock,
    log: createLog("silent"),
  });
  slots.start();
  const pressed: string[] = [];
  slots.onWanted((site) => pressed.push(site));
  const fill = async (count: number, max = count) => {
    for (let i = 0; i < count; i++) assert.equal(await slots.acquire("a", max, 0), true);
  };
  return { clock, slots, store, calls, pressed, others, fill, last: () => calls.at(-1)?.[0] };
}

describe("a process's share of the slots", () => {
  it("is asked for once a turn, all sites in one call, and no more than is needed", async () => {
    const { slots, calls } = setUp();
    const asked = [slots.acquire("a", 5, 0), slots.acquire("b", 5, 1_000), slots.acquire("a", 5, 1_000)];
    assert.deepEqual(await Promise.all(asked), [true, true, true]);
    assert.deepEqual(calls, [
      [
        { site: "a", held: 0, want: 2, max: 5, waiting: true, announce: true },
        { site: "b", held: 0, want: 1, max: 5, waiting: true, announce: true },
      ],
    ]);
  });

  it("is asked for by one call at a time for a site", async () => {
    const { clock, slots, store, calls } = setUp();
    store.isHeld = true;
    const first = slots.acquire("a", 5, 0);
    await clock.advanceAsync(0);
    const second = slots.acquire("a", 5, 0);
    await clock.advanceAsync(0);
    assert.equal(calls.length, 1);
    store.isHeld = false;
    store.answer();
    assert.deepEqual(await Promise.all([first, second]), [true, true]);
    assert.deepEqual(
      calls.map(([statement]) => [statement?.held, statement?.want]),
      [
        [0, 1],
        [1, 1],
      ],
    );
  });

  it("costs no call while the process holds all of the cap", async () => {
    const { slots, calls, fill } = setUp();
    await fill(2);
    assert.equal(await slots.acquire("a", 2, 0), false);
    assert.equal(calls.length, 2);
  });

  it("is kept for a while when unused, then unused slots are returned", async () => {
    const { clock, slots, fill, last } = setUp();
    await fill(3);
    for (let i = 0; i < 3; i++) slots.release("a");
    for (let passed = 0; passed < 2 * idleMs + beatMs; passed += beatMs) {
      assert.equal(await slots.acquire("a", 3, 0), true);
      slots.release("a");
      await clock.advanceAsync(beatMs);
    }
    assert.equal(last()?.held, 1);
    await clock.advanceAsync(3 * idleMs);
    assert.equal(last()?.held, 0);
    assert.equal(clock.pending, 0, "nothing is left to look after");
  });

  it("is renewed in good time", async () => {
    const { clock, calls, fill } = setUp();
    await fill(1);
    await clock.advanceAsync(10 * renewEveryMs);
    assert.ok(calls.length >= 8 && calls.length <= 11, `${calls.length}`);
    assert.deepEqual(calls.at(-1), [
      { site: "a", held: 1, want: 0, max: 1, waiting: false, announce: false },
    ]);
  });

  it("treats a release without a slot as a bug", () => {
    assert.throws(() => setUp().slots.release("a"), /nobody held/);
  });
});

describe("a waiter for a slot", () => {
  it("is served in order of arrival, and never overtaken by a later one", async () => {
    const { clock, slots, store, fill } = setUp(1);
    await fill(1, 3);
    const order: string[] = [];
    const first = slots.acquire("a", 3, 60_000).then(() => order.push("first"));
    await clock.advanceAsync(0);
    const second = slots.acquire("a", 3, 60_000).then(() => order.push("second"));
    await clock.advanceAsync(0);
    store.room = 1;
    assert.equal(await slots.acquire("a", 3, 0), false);
    slots.release("a");
    await first;
    await clock.advanceAsync(renewEveryMs);
    await second;
    assert.deepEqual(order, ["first", "second"]);
  });

  it("leaves when its time is over, and its process no longer waits", async () => {
    const { clock, slots, store, last } = setUp(0);
    const waiting = slots.acquire("a", 2, 700);
    await clock.advanceAsync(699);
    assert.deepEqual([slots.stats().waiting, last()?.waiting], [1, true]);
    await clock.advanceAsync(1);
    assert.equal(await waiting, false);
    assert.deepEqual([last()?.waiting, last()?.want], [false, 0]);
    store.room = 1;
    await clock.advanceAsync(renewEveryMs);
    assert.deepEqual([store.room, clock.pending], [1, 0]);
  });

  it("asks the holders of this process once, and has the others notified again only after a while", async () => {
    const { clock, slots, calls, pressed, fill } = setUp(1);
    await fill(1, 2);
    void slots.acquire("a", 2, 60_000);
    await clock.advanceAsync(3 * announceEveryMs - 1);
    assert.deepEqual(pressed, ["a"]);
    const announced = calls.flat().filter(({ announce }) => announce).length;
    assert.equal(announced, 3);
    assert.ok(calls.length > announced + 2, "it asks more often than it announces");
  });

  it("is no one who does not want to: nobody is pressed or told, and a refusal is remembered", async () => {
    const { clock, slots, calls, pressed, fill } = setUp(1);
    await fill(1, 3);
    const asked = calls.length;
    for (let i = 0; i < 5; i++) assert.equal(await slots.acquire("a", 3, 0), false);
    assert.equal(calls.length, asked + 1);
    assert.deepEqual([calls.at(-1)?.[0]?.waiting, calls.at(-1)?.[0]?.announce, pressed], [false, false, []]);
    await clock.advanceAsync(refusalMs);
    await slots.acquire("a", 3, 0);
    assert.equal(calls.length, asked + 2);
  });

  it("asks again as soon as a slot came free elsewhere", async () => {
    const { clock, slots, store, others } = setUp(0);
    const waiting = slots.acquire("a", 2, 60_000);
    await clock.advanceAsync(0);
    store.room = 1;
    others.onFreed("a");
    others.onFreed("unknown");
    assert.equal(await waiting, true);
  });

  it("leaves a slot that is granted too late to others", async () => {
    const { clock, slots, store, last } = setUp();
    store.isHeld = true;
    const waiting = slots.acquire("a", 2, 100);
    await clock.advanceAsync(100);
    assert.equal(await waiting, false);
    store.isHeld = false;
    store.answer();
    await clock.advanceAsync(0);
    assert.deepEqual([last()?.held, last()?.want, slots.stats().held], [0, 0, 0]);
  });

  it("is served by a slot released here while the store is still asked", async () => {
    const { clock, slots, store, last, fill } = setUp();
    await fill(1, 2);
    store.isHeld = true;
    const waiting = slots.acquire("a", 2, 1_000);
    await clock.advanceAsync(0);
    slots.release("a");
    assert.equal(await waiting, true);
    store.isHeld = false;
    store.answer();
    await clock.advanceAsync(0);
    assert.equal(last()?.held, 1, "what was granted on top goes back");
  });

  it("is one of a bounded number", async () => {
    const { slots } = setUp(0);
    const waiting = Array.from({ length: LIMITS.smtp.slotWaiters }, () => slots.acquire("a", 2, 1_000));
    assert.equal(await slots.acquire("a", 2, 1_000), false);
    await slots.close();
    assert.ok((await Promise.all(waiting)).every((granted) => !granted));
  });
});

describe("a process that another one asks for a slot", () => {
  it("returns its idle ones at once and asks no holder", async () => {
    const { clock, slots, others, pressed, last, fill } = setUp();
    await fill(3);
    slots.release("a");
    slots.release("a");
    others.onWanted("a", 0);
    await clock.advanceAsync(0);
    assert.deepEqual([last()?.held, pressed], [1, []]);
  });

  it("presses a holder, and gives the slot away before anybody here gets it", async () => {
    const { clock, slots, store, others, pressed, last, fill } = setUp(2);
    await fill(2);
    const waiting = slots.acquire("a", 2, 60_000);
    others.onWanted("a", 0);
    assert.equal(pressed.length, 2, "for the waiter here, and for the other process");
    slots.release("a");
    await clock.advanceAsync(0);
    assert.deepEqual([last()?.held, last()?.waiting, slots.stats().waiting], [1, true, 1]);
    slots.release("a");
    assert.equal(await waiting, true, "the next one is ours");
    assert.equal(store.room, 0);
  });

  it("keeps what it uses when it has no more than the other", async () => {
    const { others, pressed, fill } = setUp();
    await fill(2, 3);
    others.onWanted("a", 2);
    others.onWanted("b", 0);
    assert.deepEqual(pressed, []);
    others.onWanted("a", 1);
    others.onWanted("a", 1);
    assert.deepEqual(pressed, ["a"], "one is owed already");
  });
});

describe("a process without the store", () => {
  it("keeps what it holds, opens one at a site where it holds none, and waits for no store", async () => {
    const { slots, store, calls, fill } = setUp();
    await fill(2, 5);
    store.isDown = true;
    assert.equal(await slots.acquire("a", 5, 0), false);
    assert.equal(await slots.acquire("b", 5, 0), true);
    assert.equal(await slots.acquire("b", 5, 0), false);
    slots.release("a");
    assert.equal(await slots.acquire("a", 5, 0), true);
    assert.equal(calls.length, 3, "one call has failed, none was tried since");
    assert.equal(slots.stats().held, 3);
  });

  it("is none whose call was timed out once: it asks again, and opens nothing by itself", async () => {
    const { clock, slots, store, calls } = setUp(0);
    store.timeouts = 1;
    const asked = slots.acquire("a", 5, 0);
    await clock.advanceAsync(LIMITS.redis.commandTimeoutMs);
    assert.equal(await asked, false, "the store has none");
    assert.equal(calls.length, 2);
    assert.deepEqual(calls[1], calls[0]);
    store.timeouts = 2;
    await clock.advanceAsync(refusalMs);
    const again = slots.acquire("a", 5, 0);
    await clock.advanceAsync(2 * LIMITS.redis.commandTimeoutMs);
    assert.equal(await again, true, "who is not heard twice is alone");
    assert.equal(calls.length, 4);
  });

  it("notifies the other holders once that it waits, also when it has to ask again", async () => {
    const { clock, slots, store, calls } = setUp(0);
    store.timeouts = 1;
    const waiting = slots.acquire("a", 5, 600_000);
    await clock.advanceAsync(LIMITS.redis.commandTimeoutMs);
    const [[first], [second]] = [calls[0] ?? [], calls[1] ?? []];
    assert.equal(first?.announce, true);
    assert.deepEqual(second, { ...first, announce: false });
    store.room = 1;
    await clock.advanceAsync(announceEveryMs);
    assert.equal(await waiting, true);
  });

  it("keeps its idle slots, and comes back by stating all it holds before it asks", async () => {
    const { clock, slots, store, calls, fill } = setUp();
    await fill(2, 5);
    store.isDown = true;
    assert.equal(await slots.acquire("b", 5, 0), true);
    slots.release("a");
    const waiting = slots.acquire("b", 5, 600_000);
    await clock.advanceAsync(10 * idleMs);
    const tries = calls.length;
    assert.ok(tries <= 4 + (10 * idleMs) / aloneMs, `${tries}`);
    store.isDown = false;
    await clock.advanceAsync(aloneMs + beatMs);
    assert.equal(await waiting, true);
    const back = calls.slice(tries);
    assert.deepEqual(
      back[0]?.map(({ site, held, want }) => [site, held, want]),
      [
        ["a", 2, 0],
        ["b", 1, 0],
      ],
    );
    assert.deepEqual([back[1]?.[0]?.site, back[1]?.[0]?.want], ["b", 1]);
  });

  it("gives back what turns out to be too much: idle ones at once, used ones as they end", async () => {
    const { clock, slots, store, pressed, last, fill } = setUp();
    await fill(4);
    store.isDown = true;
    slots.release("a");
    await clock.advanceAsync(renewEveryMs + beatMs);
    store.isDown = false;
    store.mayKeep = 2;
    await clock.advanceAsync(aloneMs + beatMs);
    assert.deepEqual([last()?.held, pressed], [3, ["a"]], "the excess was told twice and is owed once");
    slots.release("a");
    await clock.advanceAsync(0);
    assert.equal(last()?.held, 2);
  });

  it("finds the store again although it uses no slot any more", async () => {
    const { clock, slots, store, calls } = setUp();
    store.isDown = true;
    assert.equal(await slots.acquire("a", 5, 0), true);
    store.isDown = false;
    await clock.advanceAsync(aloneMs + beatMs);
    slots.release("a");
    await clock.advanceAsync(3 * idleMs);
    assert.equal(clock.pending, 0);
    const before = calls.length;
    assert.deepEqual(await Promise.all([slots.acquire("a", 5, 0), slots.acquire("a", 5, 0)]), [true, true]);
    assert.equal(calls.length, before + 1);
  });
});

describe("a process that stops", () => {
  it("answers who waits, and gives everything back in calls of bounded size", async () => {
    const { slots, store, calls } = setUp();
    const sites = Array.from({ length: 250 }, (_, i) => `site ${i}`);
    await Promise.all(sites.map((site) => slots.acquire(site, 2, 0)));
    store.room = 0;
    const waiting = slots.acquire("full", 2, 60_000);
    const before = calls.length;
    await slots.close();
    assert.equal(await waiting, false);
    assert.equal(await slots.acquire("site 0", 2, 1_000), false);
    for (const site of sites) slots.release(site);
    const sent = calls.slice(before);
    assert.ok(calls.every((statements) => statements.length <= LIMITS.slots.sitesPerCall));
    const given = new Set(sent.flat().map(({ site }) => site));
    assert.ok(sites.every((site) => given.has(site)));
    assert.ok(sent.flat().every(({ held, want }) => held === 0 && want === 0));
  });

  it("does so also when the store is away", async () => {
    const { slots, store, fill } = setUp();
    await fill(1);
    store.isDown = true;
    await slots.close();
    assert.equal(slots.stats().waiting, 0);
  });
});
