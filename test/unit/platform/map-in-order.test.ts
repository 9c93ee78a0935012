import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { describe, it } from "node:test";
import { mapInOrder } from "../../../src/platform/map-in-order.ts";

const never = new AbortController().signal;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("items that are mapped in order", () => {
  it("keep their order, and no more are in progress than allowed", async () => {
    let [underWay, most] = [0, 0];
    const begin = async (n: number) => {
      underWay += 1;
      most = Math.max(most, underWay);
      for (let turns = n % 5; turns >= 0; turns--) await new Promise(setImmediate);
      underWay -= 1;
      return n * 2;
    };
    const items = Array.from({ length: 100 }, (_, n) => n);
    const results = await collect(mapInOrder(items, begin, { atOnce: 7, signal: never }));
    assert.deepEqual(
      results,
      items.map((n) => n * 2),
    );
    assert.equal(most, 7);
  });

  it("are reported before the next one comes", async () => {
    const next = new EventEmitter();
    async function* items() {
      yield 1;
      await once(next, "item");
      yield 2;
    }
    const results = mapInOrder(items(), async (n) => n, { atOnce: 9, signal: never });
    assert.equal((await results.next()).value, 1);
    const second = results.next();
    await new Promise(setImmediate);
    next.emit("item");
    assert.equal((await second).value, 2);
    assert.equal((await results.next()).done, true);
  });

  it("end at once when they are aborted, though no item comes", async () => {
    const control = new AbortController();
    async function* items() {
      yield 1;
      await new Promise(() => {});
    }
    const results = mapInOrder(items(), async (n) => n, { atOnce: 9, signal: control.signal });
    await results.next();
    const waiting = results.next();
    control.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
  });

  it("tell of failures in their turn, of an item's and of their source's", async () => {
    const failing = async (n: number) => {
      if (n === 2) throw new Error("no 2");
      return n;
    };
    const results = mapInOrder([1, 2, 3], failing, { atOnce: 3, signal: never });
    assert.equal((await results.next()).value, 1);
    await assert.rejects(results.next(), /no 2/);
    function* broken() {
      yield 1;
      throw new Error("no more");
    }
    const some = mapInOrder(broken(), async (n) => n, { atOnce: 3, signal: never });
    assert.equal((await some.next()).value, 1);
    await assert.rejects(some.next(), /no more/);
  });

  it("close their source when the reader stops", async () => {
    const left = new EventEmitter();
    const isLeft = once(left, "left");
    async function* items() {
      try {
        for (let n = 0; ; n++) yield n;
      } finally {
        left.emit("left");
      }
    }
    for await (const n of mapInOrder(items(), async (m) => m, { atOnce: 3, signal: never }))
      if (n === 5) break;
    await isLeft;
  });
});
