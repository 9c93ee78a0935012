import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { batchPerTick, runAtEndOfTick, runEndOfTickNow } from "../../../../src/platform/time/ticks.ts";

describe("the end of a turn", () => {
  it("comes once for all that wait for it, in order", async () => {
    const ended: number[] = [];
    for (const i of [1, 2, 3]) runAtEndOfTick(() => ended.push(i));
    assert.deepEqual(ended, []);
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
  });

  it("comes at once in a turn that is long, and again for what waits after that", async () => {
    const ended: number[] = [];
    runAtEndOfTick(() => {
      ended.push(1);
      runAtEndOfTick(() => ended.push(2));
    });
    runEndOfTickNow();
    assert.deepEqual(ended, [1]);
    runAtEndOfTick(() => ended.push(3));
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
    runEndOfTickNow();
    assert.deepEqual(ended, [1, 2, 3]);
  });

  it("flushes what was gathered, and nothing twice", async () => {
    const flushed: number[][] = [];
    const gathering = batchPerTick<number>(3, (items) => flushed.push(items));
    gathering.add(1);
    runEndOfTickNow();
    gathering.add(2);
    gathering.add(3);
    await turn();
    assert.deepEqual(flushed, [[1], [2, 3]]);
  });
});
