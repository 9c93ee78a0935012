import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFreshChunks } from "../../../src/bulk/fresh-chunks.ts";
import { createJoinPace } from "../../../src/bulk/join-pace.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** Chunks wait for the join beside them while that is what is behind, and for nothing else. */
const bounds = { behindBytes: 100, behindMs: 250 };

function make(heldBytes = 100) {
  const clock = createFakeClock();
  const held = { bytes: heldBytes };
  const pace = createJoinPace({ heldBytes: () => held.bytes, clock, bounds });
  // It has begun.
  pace.setWaiting(false);
  return { clock, held, pace };
}

/** Whether a turn has come, once promise callbacks have run. */
async function hasCome(turn: Promise<void> | null): Promise<boolean> {
  let come = turn === null;
  void turn?.then(() => {
    come = true;
  });
  for (let i = 0; i < 3; i++) await Promise.resolve();
  return come;
}

describe("the pace of a join", () => {
  it("lets chunks begin while little is held", () => {
    assert.equal(make(99).pace.whenAllowed(), null);
  });

  it("has them wait while much is held, until enough of it was taken", async () => {
    const { held, pace, clock } = make();
    const turns = [pace.whenAllowed(), pace.whenAllowed()];
    pace.onTaken();
    assert.deepEqual(await Promise.all(turns.map(hasCome)), [false, false]);
    held.bytes = 99;
    pace.onTaken();
    assert.deepEqual(await Promise.all(turns.map(hasCome)), [true, true]);
    assert.equal(clock.pending, 0);
  });

  it("has them wait so long at most", async () => {
    const { pace, clock } = make();
    const turn = pace.whenAllowed();
    await clock.advanceAsync(249);
    assert.equal(await hasCome(turn), false);
    await clock.advanceAsync(1);
    assert.equal(await hasCome(turn), true);
  });

  it("holds nobody up while the join waits for a chunk itself", async () => {
    const { pace } = make();
    const turn = pace.whenAllowed();
    pace.setWaiting(true);
    assert.equal(await hasCome(turn), true);
    assert.equal(pace.whenAllowed(), null);
    pace.setWaiting(false);
    assert.notEqual(pace.whenAllowed(), null);
  });

  it("holds nobody up before it was given a chunk", () => {
    assert.equal(
      createJoinPace({ heldBytes: () => 100, clock: createFakeClock(), bounds }).whenAllowed(),
      null,
    );
  });

  it("holds nobody up any more once it took nothing for so long, until it does", async () => {
    const { pace, clock } = make();
    const first = pace.whenAllowed();
    await clock.advanceAsync(200);
    const second = pace.whenAllowed();
    await clock.advanceAsync(50);
    assert.deepEqual(await Promise.all([first, second].map(hasCome)), [true, true]);
    assert.equal(pace.whenAllowed(), null);
    pace.onTaken();
    const third = pace.whenAllowed();
    await clock.advanceAsync(100);
    pace.onTaken();
    await clock.advanceAsync(150);
    assert.equal(await hasCome(third), true);
    assert.notEqual(pace.whenAllowed(), null, "it is slow, and goes on");
  });

  it("holds nobody up when the join is over", async () => {
    const { pace, clock } = make();
    const turn = pace.whenAllowed();
    pace.close();
    assert.equal(await hasCome(turn), true);
    assert.equal(pace.whenAllowed(), null);
    assert.equal(clock.pending, 0);
  });
});

describe("chunks in memory", () => {
  it("tell when less of them is held", () => {
    const told: number[] = [];
    const fresh = createFreshChunks(1_000, () => told.push(fresh.heldBytes));
    const rows = Buffer.alloc(10);
    fresh.add({ shardKey: "s", shard: Buffer.alloc(5), range: { firstByte: 0, bytes: 10 }, rows });
    fresh.takeShard("s");
    fresh.takeRows({ firstByte: 0, bytes: 10 });
    assert.deepEqual(told, [10, 0]);
  });
});
