// Alone in its process: it measures the event loop.
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:os";
import { describe, it } from "node:test";
import { createLongTicks, INTERRUPT } from "../../../../src/api/server/long-ticks.ts";

/** So many requests are read between two looks. */
const EVERY = 512;

function reading() {
  const seen = { interrupts: 0, ends: 0 };
  let turned: (() => void)[] = [];
  const turns = createLongTicks({
    interrupt: () => {
      seen.interrupts += 1;
    },
    afterTick: (callback) => turned.push(callback),
    endTickNow: () => {
      seen.ends += 1;
    },
  });
  return {
    seen,
    read(requests: number) {
      for (let i = 0; i < requests; i++) turns.onRequestRead();
    },
    nextTurn() {
      const due = turned;
      turned = [];
      for (const callback of due) callback();
      return due.length;
    },
  };
}

describe("long turns", () => {
  it("lets a turn of few requests be", () => {
    const { seen, read, nextTurn } = reading();
    for (let turn = 0; turn < 100; turn++) {
      read(EVERY - 1 - (turn % 7));
      nextTurn();
    }
    assert.equal(seen.interrupts, 0);
  });

  it("ends what waits for the end of a turn after some hundred requests, and the turn after as many again", () => {
    const { seen, read, nextTurn } = reading();
    read(EVERY);
    assert.deepEqual(seen, { interrupts: 0, ends: 1 });
    read(EVERY - 1);
    assert.deepEqual(seen, { interrupts: 0, ends: 1 });
    read(1);
    assert.deepEqual(seen, { interrupts: 1, ends: 2 });
    // The signal comes behind the sockets that are ready: more are asked for until it does.
    read(EVERY);
    assert.deepEqual(seen, { interrupts: 2, ends: 3 });
    assert.equal(nextTurn(), 1);
    read(EVERY);
    assert.deepEqual(seen, { interrupts: 2, ends: 4 });
  });

  it("sends this process a signal that it hears, and that does nothing", async () => {
    const received = once(process, INTERRUPT);
    // A listener for signals does not keep a process alive.
    const tooLate = setTimeout(() => process.emit(INTERRUPT, INTERRUPT), 60_000);
    const turns = createLongTicks();
    for (let i = 0; i < 2 * EVERY; i++) turns.onRequestRead();
    assert.deepEqual(await received, [INTERRUPT, constants.signals[INTERRUPT]]);
    clearTimeout(tooLate);
    // Without a permanent listener, libuv would not see the next signal.
    assert.equal(process.listenerCount(INTERRUPT), 1);
  });
});
