import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentMap } from "../../../src/core/recent-map.ts";

describe("a map of what was asked for lately", () => {
  it("is bounded, and keeps what is asked for", () => {
    const map = new RecentMap<number, number>(10);
    map.set(-1, -1);
    for (let i = 0; i < 1_000; i++) {
      map.set(i, i);
      assert.equal(map.get(-1), -1, `after ${i}`);
      assert.ok(map.size <= 10);
    }
    assert.equal(map.get(999), 999);
    assert.equal(map.get(1), undefined);
  });

  it("has the latest value of a key, whichever generation had it", () => {
    const map = new RecentMap<number, string>(4);
    map.set(1, "old");
    map.set(2, "b");
    map.set(3, "c");
    map.set(1, "new");
    assert.equal(map.get(1), "new");
  });

  it("still has most of what is asked for by turns, where that is more than a generation holds", () => {
    const [max, keys, turns] = [1_000, 550, 10];
    const map = new RecentMap<number, number>(max);
    let found = 0;
    for (let i = 0; i < keys * turns; i++)
      if (map.get(i % keys) === undefined) map.set(i % keys, i);
      else found++;
    assert.ok(found > 0.75 * keys * turns, `${found} of ${keys * turns}`);
    assert.ok(map.size <= max);
  });
});
