import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { createSemaphore, SemaphoreFull, type SemaphoreLimits } from "../../../src/platform/semaphore.ts";
import { limitConcurrency } from "../../../src/stores/objects/object-client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const LIMITS = { atOnce: 2, waiting: 2, waitMs: 1_000 };

function open(limits: SemaphoreLimits = LIMITS) {
  const clock = createFakeClock();
  const turns = createSemaphore(limits, "the thing", clock);
  const order: string[] = [];
  /** Resolves with how to end the turn. */
  const come = async (name: string, cancelled?: AbortSignal, share?: string) => {
    const end = await turns.acquire(cancelled, share);
    order.push(name);
    return end;
  };
  return { clock, turns, order, come };
}

describe("turns", () => {
  it("are had at once while there are any, then in the order of coming", async () => {
    const { order, come, clock } = open();
    const [endA] = await Promise.all([come("a"), come("b")]);
    const waiting = [come("c"), come("d")];
    await clock.advanceAsync(LIMITS.waitMs - 1);
    assert.deepEqual(order, ["a", "b"]);
    endA?.();
    endA?.();
    const endC = await waiting[0];
    await clock.advanceAsync(0);
    assert.deepEqual(order, ["a", "b", "c"]);
    endC?.();
    await waiting[1];
    assert.deepEqual(order, ["a", "b", "c", "d"]);
    assert.equal(clock.pending, 0);
  });

  it("are refused when too many wait, and when the wait gets too long", async () => {
    const { come, clock } = open();
    await Promise.all([come("a"), come("b")]);
    const late = [come("c"), come("d")].map((turn) => assert.rejects(turn, SemaphoreFull));
    await assert.rejects(come("e"), { code: "overloaded" });
    await clock.advanceAsync(LIMITS.waitMs);
    await Promise.all(late);
    assert.equal(clock.pending, 0);
  });

  it("go to the share served longest ago, however many of another share wait; few of one share do", async () => {
    const { come, order, clock } = open({ ...LIMITS, waiting: 6, waitingPerShare: 4, waitingKept: 1 });
    const ends: (() => void)[] = [];
    const ask = (name: string) => come(name, undefined, name.slice(0, 1)).then((end) => ends.push(end));
    await Promise.all([ask("a1"), ask("a2")]);
    const waiting = ["a3", "a4", "a5", "a6"].map(ask);
    await assert.rejects(ask("a7"), { code: "overloaded" });
    waiting.push(ask("b1"));
    // The last place to wait is for shares without one.
    await assert.rejects(ask("b2"), { code: "overloaded" });
    waiting.push(ask("c1"));
    for (let ended = 0; ended < waiting.length; ended++) {
      ends.shift()?.();
      await clock.advanceAsync(0);
    }
    await Promise.all(waiting);
    assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "a4", "a5", "a6"]);
    assert.equal(clock.pending, 0);
  });

  it("are not given to a waiter that went away", async () => {
    const { come, clock, order } = open();
    const [endA] = await Promise.all([come("a"), come("b")]);
    const control = new AbortController();
    const gone = assert.rejects(come("c", control.signal), /gone/);
    const next = come("d");
    control.abort(new Error("gone"));
    await gone;
    endA?.();
    await next;
    assert.deepEqual(order, ["a", "b", "d"]);
    assert.equal(clock.pending, 0);
    await assert.rejects(come("e", control.signal), /gone/);
  });
});

describe("a request of object storage", () => {
  it("asks for no socket before its turn, and has it until its answer was read or given up", async () => {
    const clock = createFakeClock();
    const bodies: PassThrough[] = [];
    let asked = 0;
    const handler = {
      async handle() {
        asked++;
        if (asked === 5) throw new Error("no connection");
        const body = new PassThrough();
        bodies.push(body);
        return { response: { body } };
      },
    };
    const client = limitConcurrency(handler as never, createSemaphore(LIMITS, "the thing", clock));
    const ask = () => client.handle({} as never);
    await Promise.all([ask(), ask()]);
    const third = ask();
    const fourth = ask();
    await clock.advanceAsync(LIMITS.waitMs - 1);
    assert.equal(asked, 2);
    bodies[0]?.resume().end("read");
    await third;
    await clock.advanceAsync(0);
    assert.equal(asked, 3);
    bodies[1]?.destroy();
    await fourth;
    assert.equal(asked, 4);
    bodies[2]?.destroy();
    await assert.rejects(ask(), /no connection/);
    await ask();
    assert.equal(asked, 6);
  });
});
