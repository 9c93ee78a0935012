import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interruption } from "../../../src/bulk/control.ts";
import { createFinalChunks, type FinalChunksDeps } from "../../../src/bulk/final-chunks.ts";
import type { ChunkOfResults } from "../../../src/store/job-tasks.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const BOUNDS = { pollMs: 100, pollShare: 0.05, pollMaxMs: 500, patienceMs: 1_000, page: 64 };
const CHUNK = { number: 0 } as ChunkOfResults;

function setUp(
  answers: (ChunkOfResults[] | null)[],
  signal = new AbortController().signal,
  bounds: FinalChunksDeps["bounds"] = BOUNDS,
) {
  const clock = createFakeClock();
  const looks: [string, number, number][] = [];
  const look: FinalChunksDeps["readFinalChunks"] = async (...asked) => {
    looks.push(asked);
    return answers.length > 1 ? (answers.shift() ?? null) : (answers[0] ?? null);
  };
  const waits: boolean[] = [];
  const onWait = (isWaiting: boolean) => waits.push(isWaiting);
  return {
    clock,
    looks,
    waits,
    ...createFinalChunks({ readFinalChunks: look, clock, signal, bounds, onWait }),
  };
}

describe("the final chunks of a job under way", () => {
  it("are given at once where there are some, a page at a time", async () => {
    const { chunksOf, looks, waits } = setUp([[CHUNK]]);
    assert.deepEqual(await chunksOf("job", -1, 1_000), [CHUNK]);
    assert.deepEqual(await chunksOf("job", 0, 10), [CHUNK]);
    assert.deepEqual(looks, [
      ["job", -1, 64],
      ["job", 0, 10],
    ]);
    assert.ok(!waits.includes(true));
  });

  it("are waited for, with a look at the next one now and then, and given a page at a time once it is final", async () => {
    const page = [CHUNK, { ...CHUNK, number: 1 }];
    const { chunksOf, clock, looks, waits } = setUp([[], [], [CHUNK], page]);
    const found = chunksOf("job", -1, 10);
    await clock.advanceAsync(99);
    assert.equal(looks.length, 1);
    assert.deepEqual(waits, [true]);
    await clock.advanceAsync(101);
    assert.deepEqual(await found, page);
    assert.equal(waits.at(-1), false);
    assert.deepEqual(
      looks.map(([, , limit]) => limit),
      [10, 1, 1, 10],
    );
    assert.equal(clock.pending, 0);
  });

  it("are looked for less often the longer the next one takes", async () => {
    const { chunksOf, clock, looks } = setUp([[]], undefined, { ...BOUNDS, patienceMs: 60_000 });
    const found = assert.rejects(chunksOf("job", -1, 10), Interruption);
    const looksIn = async (ms: number) => {
      const before = looks.length;
      await clock.advanceAsync(ms);
      return looks.length - before;
    };
    assert.equal(await looksIn(1_000), 10);
    await clock.advanceAsync(19_000);
    assert.equal(await looksIn(10_000), 20);
    await clock.advanceAsync(40_000);
    await found;
  });

  it("are looked for at once by who is woken, also before he waits", async () => {
    const { chunksOf, clock, looks, wake } = setUp([[], [], [CHUNK]]);
    const found = chunksOf("job", -1, 10);
    await clock.advanceAsync(0);
    wake();
    await clock.advanceAsync(0);
    assert.equal(looks.length, 2);
    wake();
    assert.deepEqual(await found, [CHUNK]);
    assert.equal(clock.pending, 0);
  });

  it("are waited for no longer than it takes to lose patience, each anew", async () => {
    const { chunksOf, clock } = setUp([[], [], [CHUNK], [CHUNK], []]);
    const first = chunksOf("job", -1, 10);
    await clock.advanceAsync(900);
    await first;
    const second = assert.rejects(chunksOf("job", 0, 10), Interruption);
    await clock.advanceAsync(900);
    assert.equal(clock.pending, 1);
    await clock.advanceAsync(200);
    await second;
    assert.equal(clock.pending, 0);
  });

  it("are none of a job that has ended", async () => {
    const { chunksOf, clock } = setUp([[], null]);
    const found = assert.rejects(chunksOf("job", -1, 10), Interruption);
    await clock.advanceAsync(100);
    await found;
  });

  it("are nobody's who is cancelled", async () => {
    const controller = new AbortController();
    const { chunksOf, clock, looks } = setUp([[]], controller.signal);
    const found = assert.rejects(chunksOf("job", -1, 10), /enough/);
    await clock.advanceAsync(0);
    controller.abort(new Error("enough"));
    await found;
    assert.deepEqual([looks.length, clock.pending], [1, 0]);
  });
});
