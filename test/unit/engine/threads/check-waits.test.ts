import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSharedBoard, openSharedBoard } from "../../../../src/egress/shared-board.ts";
import { type CheckWaits, createCheckWaits } from "../../../../src/engine/threads/check-waits.ts";

function waits() {
  const board = createSharedBoard(1, 1);
  const thread = openSharedBoard(board.shared);
  const time = { ms: 1_000 };
  const start = (batches: number, waitedMs: number) => {
    for (let i = 0; i < batches; i++) thread.noteStarted(0, waitedMs);
  };
  return { start, time, waits: createCheckWaits(board, () => time.ms) };
}

function sent(of: CheckWaits, batches: number): void {
  for (let i = 0; i < batches; i++) of.onSent();
}

describe("the waits of checks for our own CPU", () => {
  it("are those for the thread and for the answer, of a batch on average", () => {
    const { waits: of, start } = waits();
    sent(of, 4);
    start(3, 10);
    start(1, 30);
    of.onReceived(1, 5);
    of.onReceived(1, 7);
    assert.equal(of.takeMeanMs(), 15 + 6);
    assert.equal(of.takeMeanMs(), 0);
  });

  it("grow while a thread begins nothing of what waits", () => {
    const { waits: of, start, time } = waits();
    sent(of, 5);
    time.ms += 40;
    assert.equal(of.takeMeanMs(), 40);
    time.ms += 40;
    sent(of, 5);
    assert.equal(of.takeMeanMs(), 80);
    start(10, 90);
    assert.equal(of.takeMeanMs(), 90);
    time.ms += 1_000;
    assert.equal(of.takeMeanMs(), 0);
  });

  it("are zero while started checks wait for others", () => {
    const { waits: of, start, time } = waits();
    sent(of, 8_000);
    start(8_000, 0);
    for (let i = 0; i < 10; i++) {
      time.ms += 1_000;
      assert.equal(of.takeMeanMs(), 0);
    }
  });

  it("count from when something came to wait, not from the last look", () => {
    const { waits: of, time } = waits();
    of.takeMeanMs();
    time.ms += 5_000;
    sent(of, 1);
    time.ms += 10;
    assert.equal(of.takeMeanMs(), 10);
  });

  it("forget what a dead thread had not started, and no other's", () => {
    const { waits: of, start, time } = waits();
    sent(of, 5);
    time.ms += 40;
    of.onNeverStarted(3);
    assert.equal(of.takeMeanMs(), 40);
    start(2, 50);
    assert.equal(of.takeMeanMs(), 50);
    time.ms += 40;
    assert.equal(of.takeMeanMs(), 0);
  });

  it("are bounded, and fit whatever was counted before", () => {
    const { waits: of, start } = waits();
    for (let round = 0; round < 300; round++) {
      sent(of, 8_192);
      start(8_192, 1_000_000);
      assert.equal(of.takeMeanMs(), 10_000);
      sent(of, 1);
      start(1, -5);
      assert.equal(of.takeMeanMs(), 0);
    }
  });
});
