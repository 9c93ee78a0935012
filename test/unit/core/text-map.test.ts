import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { TextMap } from "../../../src/core/text-map.ts";

const keys = fc.oneof(
  fc.nat(60).map((n) => `user${n}@example.com`),
  fc.constantFrom("", "\0", "\0\0", "ü@example.com", "ab", "ba", "x".repeat(600), `${"x".repeat(599)}y`),
);
const step = fc.record({ deed: fc.constantFrom("get", "set", "set", "delete"), key: keys });

function filled(max: number, count: number): TextMap<number> {
  const map = new TextMap<number>(max);
  for (let n = 0; n < count; n++) map.set(`user${n}@example.com`, n);
  return map;
}

describe("a map of texts", () => {
  it("is a Map as long as it has room", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const map = new TextMap<number>(1_000);
        const model = new Map<string, number>();
        for (const [at, { deed, key }] of steps.entries()) {
          const before = model.get(key);
          if (deed === "get") assert.equal(map.get(key), before);
          else if (deed === "set") assert.equal(map.set(key, at), before);
          else assert.equal(map.delete(key), before);
          if (deed === "set") model.set(key, at);
          if (deed === "delete") model.delete(key);
          assert.equal(map.size, model.size);
        }
        for (const [key, value] of model) assert.equal(map.get(key), value);
      }),
    );
  });

  it("full, lets one go for each that comes, and says which", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.integer({ min: 1, max: 20 }), (steps, max) => {
        const map = new TextMap<string>(max);
        const there = new Set<string>();
        for (const { deed, key } of steps) {
          if (deed === "get") assert.equal(map.get(key), there.has(key) ? key : undefined);
          else if (deed === "delete") assert.equal(map.delete(key), there.delete(key) ? key : undefined);
          else {
            const gone = map.set(key, key);
            assert.equal(gone !== undefined, there.has(key) || there.size === max);
            if (gone !== undefined) there.delete(gone);
            there.add(key);
          }
          assert.equal(map.size, there.size);
        }
        for (const key of there) assert.equal(map.get(key), key);
      }),
    );
  });

  it("finds all of many, also when the table has grown and most were deleted", () => {
    const map = filled(100_000, 50_000);
    for (let n = 0; n < 50_000; n++) if (n % 7 !== 0) assert.equal(map.delete(`user${n}@example.com`), n);
    for (let n = 0; n < 50_000; n++)
      assert.equal(map.get(`user${n}@example.com`), n % 7 === 0 ? n : undefined);
    assert.equal(map.size, Math.ceil(50_000 / 7));
  });

  it("keeps who was asked for before who was not", () => {
    const map = filled(1_000, 1_000);
    for (let n = 0; n < 1_000; n += 2) map.get(`user${n}@example.com`);
    for (let n = 1_000; n < 1_500; n++) map.set(`user${n}@example.com`, n);
    for (let n = 0; n < 1_500; n++) {
      const stays = n >= 1_000 || n % 2 === 0;
      assert.equal(map.get(`user${n}@example.com`), stays ? n : undefined, `user${n}`);
    }
  });

  it("lets the first go when all were asked for", () => {
    const map = filled(3, 3);
    for (const n of [0, 1, 2]) map.get(`user${n}@example.com`);
    assert.equal(map.set("new@example.com", 9), 0);
    assert.equal(map.size, 3);
  });
});
