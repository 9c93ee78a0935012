import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createRowSlots, type HeldRowSlots } from "../../../../../src/features/bulk/run/row-slots.ts";

/** Asks for places by name. */
function fixture(count: number) {
  const places = createRowSlots(count);
  const at = new Map<string, HeldRowSlots>();
  return {
    ask: (name: string, wanted: number) => void places.acquire(wanted).then((held) => at.set(name, held)),
    keep: (name: string, left: number) => at.get(name)?.shrinkTo(left),
    async now(): Promise<string> {
      await turn();
      return [...at.keys()].join("");
    },
  };
}

describe("places", () => {
  it("are granted in turn: a small request does not overtake a large one", async () => {
    const { ask, keep, now } = fixture(10);
    ask("a", 6);
    ask("b", 6);
    ask("c", 1);
    assert.equal(await now(), "a");
    keep("a", 5);
    assert.equal(await now(), "a");
    keep("a", 4);
    assert.equal(await now(), "ab");
    keep("b", 5);
    assert.equal(await now(), "abc");
  });

  it("are given back once, however often one says so, and never taken again", async () => {
    const { ask, keep, now } = fixture(4);
    ask("a", 4);
    ask("b", 3);
    await now();
    keep("a", 2);
    keep("a", 2);
    keep("a", 4);
    assert.equal(await now(), "a");
    keep("a", 0);
    keep("a", 0);
    assert.equal(await now(), "ab");
    ask("c", 2);
    assert.equal(await now(), "ab");
    keep("b", 2);
    assert.equal(await now(), "abc");
  });

  it("are all granted to a request for more than there are", async () => {
    const { ask, keep, now } = fixture(3);
    ask("a", 1_000);
    ask("b", 1);
    assert.equal(await now(), "a");
    keep("a", 500);
    assert.equal(await now(), "a");
    keep("a", 2);
    assert.equal(await now(), "ab");
  });
});
