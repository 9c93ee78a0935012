import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createKeyedMutex } from "../../../../src/stores/postgres/keyed-mutex.ts";
import { isOutage } from "../../../../src/stores/postgres/postgres.ts";

describe("a mutex for each key", () => {
  it("runs work of a key in order, one at a time, and beside that of other keys", async () => {
    const run = createKeyedMutex(60_000);
    const order: string[] = [];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise(setImmediate);
      order.push(`${name} ends`);
    };
    await Promise.all([run("a", work("a1")), run("a", work("a2")), run("b", work("b1"))]);
    assert.deepEqual(
      order.filter((step) => step.startsWith("a")),
      ["a1 begins", "a1 ends", "a2 begins", "a2 ends"],
    );
    assert.deepEqual(order.slice(0, 2), ["a1 begins", "b1 begins"]);
  });

  it("refuses work that has waited too long, and lets none pass work that is under way", async () => {
    const run = createKeyedMutex(20);
    let finish: () => void = () => undefined;
    const first = run("a", () => new Promise<void>((resolve) => (finish = resolve)));
    const waiting = run("a", async () => "ran");
    await assert.rejects(waiting, isOutage);
    const third = run("a", async () => "ran");
    const before = await Promise.race([third, new Promise((resolve) => setImmediate(resolve, "waits"))]);
    assert.equal(before, "waits");
    finish();
    await first;
    assert.equal(await third, "ran");
  });
});
