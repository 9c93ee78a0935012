import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { endOfTurn, endTurnNow, gatherTurns } from "../../../src/core/turns.ts";

describe("the end of a turn", () => {
  it("comes once for all that wait for it, in order", async () => {
    const ended: number[] = [];
    for (const i of [1, 2, 3]) endOfTurn(() => ended.push(i));
    assert.deepEqual(ended, []);
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
  });

  it("comes at once in a turn that is long, and again for what waits after that", async () => {
    const ended: number[] = [];
    endOfTurn(() => {
      ended.push(1);
      endOfTurn(() => ended.push(2));
    });
    endTurnNow();
    assert.deepEqual(ended, [1]);
    endOfTurn(() => ended.push(3));
    await turn();
    assert.deepEqual(ended, [1, 2, 3]);
    endTurnNow();
    assert.deepEqual(ended, [1, 2, 3]);
  });

  it("flushes what was gathered, and nothing twice", async () => {
    const flushed: number[][] = [];
    const gathering = gatherTurns<number>(3, (items) => flushed.push(items));
    gathering.add(1);
    endTurnNow();
    gathering.add(2);
    gathering.add(3);
    await turn();
    assert.deepEqual(flushed, [[1], [2, 3]]);
  });
});
