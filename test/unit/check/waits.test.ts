import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBoard, openBoard } from "../../../src/check/board.ts";
import { createCheckWaits } from "../../../src/check/waits.ts";

function waits() {
  const board = createBoard(1, 1);
  const thread = openBoard(board.shared);
  const time = { ms: 1_000 };
  return { thread, time, waits: createCheckWaits(board, () => time.ms) };
}

describe("the waits of checks for our own CPU", () => {
  it("are those for the post, the thread and the answer, of a check on the average", () => {
    const { waits: of, thread } = waits();
    of.sent(3, 2);
    of.sent(1, 6);
    thread.noteBegun(3, 10);
    thread.noteBegun(1, 30);
    of.heard(1, 5);
    of.heard(1, 7);
    assert.equal(of.take(), 3 + 15 + 6);
    assert.equal(of.take(), 0);
  });

  it("grow while a thread begins nothing of what waits", () => {
    const { waits: of, thread, time } = waits();
    of.sent(5, 0);
    time.ms += 40;
    assert.equal(of.take(), 40);
    time.ms += 40;
    of.sent(5, 0);
    assert.equal(of.take(), 80);
    thread.noteBegun(10, 90);
    assert.equal(of.take(), 90);
    time.ms += 1_000;
    assert.equal(of.take(), 0);
  });

  it("are none while checks that were begun wait for others", () => {
    const { waits: of, thread, time } = waits();
    of.sent(8_000, 0);
    thread.noteBegun(8_000, 0);
    for (let i = 0; i < 10; i++) {
      time.ms += 1_000;
      assert.equal(of.take(), 0);
    }
  });

  it("count from when something came to wait, not from the last look", () => {
    const { waits: of, time } = waits();
    of.take();
    time.ms += 5_000;
    of.sent(1, 0);
    time.ms += 10;
    assert.equal(of.take(), 10);
  });

  it("forget what a dead thread took with it", () => {
    const { waits: of, thread, time } = waits();
    of.sent(5, 0);
    time.ms += 40;
    of.lost();
    assert.equal(of.take(), 0);
    thread.noteBegun(5, 40);
    assert.equal(of.take(), 40);
    time.ms += 40;
    assert.equal(of.take(), 0);
  });

  it("are bounded, and fit whatever was counted before", () => {
    const { waits: of, thread } = waits();
    for (let round = 0; round < 300; round++) {
      of.sent(8_192, 0);
      thread.noteBegun(8_192, 1_000_000);
      assert.equal(of.take(), 10_000);
      of.sent(1, 0);
      thread.noteBegun(1, -5);
      assert.equal(of.take(), 0);
    }
  });
});
