import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTurns } from "../../../../src/stores/postgres/turns.ts";

describe("turns of a key", () => {
  it("run one after another, in order, and beside those of other keys", async () => {
    const inTurn = createTurns(60_000);
    const order: string[] = [];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise(setImmediate);
      order.push(`${name} ends`);
    };
    await Promise.all([inTurn("a", work("a1")), inTurn("a", work("a2")), inTurn("b", work("b1"))]);
    assert.deepEqual(
      order.filter((step) => step.startsWith("a")),
      ["a1 begins", "a1 ends", "a2 begins", "a2 ends"],
    );
    assert.deepEqual(order.slice(0, 2), ["a1 begins", "b1 begins"]);
  });

  it("do not wait for ever", async () => {
    const inTurn = createTurns(1);
    void inTurn("a", () => new Promise(() => undefined));
    assert.equal(await inTurn("a", async () => "went on"), "went on");
  });
});
