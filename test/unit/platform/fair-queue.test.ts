import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFairQueue, type FairQueueLimits } from "../../../src/platform/fair-queue.ts";

/** Work that notes when it begins, and ends when the test says so. */
function queueWith(limits?: FairQueueLimits) {
  const queue = createFairQueue(limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const add = (share: string, name: string) =>
    queue.run(share, () => {
      begun.push(name);
      return new Promise<void>((end) => {
        ends.push(end);
      });
    });
  /** Ends what is under way, `count` times. */
  async function end(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      ends.shift()?.();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { queue, begun, add, end };
}

describe("a fair queue", () => {
  it("does one after the other, a share's in order of arrival", async () => {
    const { begun, add, end } = queueWith();
    const all = [add("a", "a1"), add("a", "a2"), add("a", "a3")];
    await end(1);
    assert.deepEqual(begun, ["a1", "a2"]);
    await end(2);
    await Promise.all(all);
    assert.deepEqual(begun, ["a1", "a2", "a3"]);
  });

  it("takes the share served longest ago, however much others have queued and whenever they came", async () => {
    const { begun, add, end } = queueWith();
    const all = [
      add("a", "a1"),
      add("a", "a2"),
      add("a", "a3"),
      add("b", "b1"),
      add("b", "b2"),
      add("c", "c1"),
    ];
    await end(2);
    assert.deepEqual(begun, ["a1", "b1", "c1"]);
    // Served longer ago than a and b, which wait since before it came.
    all.push(add("d", "d1"));
    await end(5);
    assert.deepEqual(begun, ["a1", "b1", "c1", "d1", "a2", "b2", "a3"]);
    await Promise.all(all);
  });

  it("remembers a share's turn while it has nothing queued", async () => {
    const { begun, add, end } = queueWith();
    const first = add("a", "a1");
    await end(1);
    await first;
    const all = [add("b", "b1"), add("a", "a2"), add("c", "c1")];
    await end(3);
    await Promise.all(all);
    assert.deepEqual(begun, ["a1", "b1", "c1", "a2"]);
  });

  it("does several at once, of one share no more than its part", async () => {
    const { begun, add, end } = queueWith({ atOnce: 3, perShare: 2 });
    const all = [
      add("a", "a1"),
      add("a", "a2"),
      add("a", "a3"),
      add("a", "a4"),
      add("b", "b1"),
      add("c", "c1"),
    ];
    await end(0);
    assert.deepEqual(begun, ["a1", "a2", "b1"]);
    await end(1);
    assert.deepEqual(begun, ["a1", "a2", "b1", "c1"]);
    await end(1);
    assert.deepEqual(begun.slice(4), ["a3"]);
    await end(4);
    await Promise.all(all);
    assert.deepEqual(begun.slice(4), ["a3", "a4"]);
  });

  it("goes on after work that fails, which fails for its caller alone", async () => {
    const { queue } = queueWith();
    const failed = assert.rejects(
      queue.run("a", async () => {
        throw new Error("a fault");
      }),
      /a fault/,
    );
    assert.equal(await queue.run("b", async () => 2), 2);
    await failed;
  });
});
