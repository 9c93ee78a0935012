// Alone in its process: it measures memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_SLOT, TextMap } from "../../../../../src/features/verify/cache/text-map.ts";
import fc from "../../../../support/properties.ts";

const keys = fc.oneof(
  fc.nat(60).map((n) => `user${n}@example.com`),
  fc.constantFrom("", "\0", "\0\0", "ü@example.com", "ab", "ba", "x".repeat(600), `${"x".repeat(599)}y`),
  // As long as fits into a slot, and longer; and texts with characters of more than one byte.
  fc.constantFrom(
    "k".repeat(38),
    "k".repeat(39),
    "k".repeat(40),
    "l".repeat(40),
    "łukasz@example.com",
    "\u0161",
    "a",
  ),
);
const step = fc.record({ deed: fc.constantFrom("get", "set", "set", "delete"), key: keys });

const few = fc.integer({ min: 1, max: 20 });

const get = <V>(map: TextMap<V>, key: string) => {
  const seat = map.find(key);
  return seat === NO_SLOT ? undefined : map.at(seat);
};

/** @returns the key's previous value, or the value that was evicted */
function set<V>(map: TextMap<V>, key: string, value: V): V | undefined {
  const seat = map.slotFor(key);
  const before = map.at(seat);
  map.put(seat, value);
  return before;
}

function filled(max: number, count: number, room?: number): TextMap<number> {
  const map = new TextMap<number>(max, room);
  for (let n = 0; n < count; n++) set(map, `user${n}@example.com`, n);
  return map;
}

describe("a map of texts", () => {
  it("is a Map as long as it has room", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.integer({ min: 1, max: 100 }), (steps, room) => {
        const map = new TextMap<number>(1_000, room);
        const model = new Map<string, number>();
        for (const [at, { deed, key }] of steps.entries()) {
          const before = model.get(key);
          if (deed === "get") assert.equal(get(map, key), before);
          else if (deed === "set") assert.equal(set(map, key, at), before);
          else assert.equal(map.delete(key), before);
          if (deed === "set") model.set(key, at);
          if (deed === "delete") model.delete(key);
          assert.equal(map.size, model.size);
        }
        for (const [key, value] of model) assert.equal(get(map, key), value);
      }),
    );
  });

  it("full, lets one go for each that comes, and says which", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), few, few, (steps, max, room) => {
        const map = new TextMap<string>(max, room);
        const there = new Set<string>();
        for (const { deed, key } of steps) {
          if (deed === "get") assert.equal(get(map, key), there.has(key) ? key : undefined);
          else if (deed === "delete") assert.equal(map.delete(key), there.delete(key) ? key : undefined);
          else {
            const gone = set(map, key, key);
            assert.equal(gone !== undefined, there.has(key) || there.size === max);
            if (gone !== undefined) there.delete(gone);
            there.add(key);
          }
          assert.equal(map.size, there.size);
        }
        for (const key of there) assert.equal(get(map, key), key);
      }),
    );
  });

  it("finds all of many, also when the table has grown and most were deleted", () => {
    const map = filled(100_000, 50_000, 500);
    for (let n = 0; n < 50_000; n++) if (n % 7 !== 0) assert.equal(map.delete(`user${n}@example.com`), n);
    for (let n = 0; n < 50_000; n++)
      assert.equal(get(map, `user${n}@example.com`), n % 7 === 0 ? n : undefined);
    assert.equal(map.size, Math.ceil(50_000 / 7));
  });

  it("keeps texts that were read before those that were not", () => {
    const map = filled(1_000, 1_000);
    for (let n = 0; n < 1_000; n += 2) get(map, `user${n}@example.com`);
    for (let n = 1_000; n < 1_500; n++) set(map, `user${n}@example.com`, n);
    for (let n = 0; n < 1_500; n++) {
      const stays = n >= 1_000 || n % 2 === 0;
      assert.equal(get(map, `user${n}@example.com`), stays ? n : undefined, `user${n}`);
    }
  });

  it("lets the first go when all were asked for", () => {
    const map = filled(3, 3);
    for (const n of [0, 1, 2]) get(map, `user${n}@example.com`);
    assert.equal(set(map, "new@example.com", 9), 0);
    assert.equal(map.size, 3);
  });

  it("keeps each text's slot, and knows which were read again", () => {
    const map = filled(100, 100);
    const seats = Array.from({ length: 100 }, (_, n) => map.find(`user${n}@example.com`));
    assert.deepEqual(
      [...seats].sort((a, b) => a - b),
      seats.map((_, n) => n),
    );
    for (const [n, seat] of seats.entries()) {
      assert.equal(map.isAccessedAgain(seat), false);
      assert.equal(map.find(`user${n}@example.com`), seat);
      assert.equal(map.slotFor(`user${n}@example.com`), seat);
      assert.equal(map.isAccessedAgain(seat), true);
    }
    assert.equal(map.isAccessedAgain(map.slotFor("new@example.com")), false);
  });

  it("has room for all from the start, since to make it while it is used holds all else up; of very many, for some", () => {
    const map = filled(100_000, 1_000);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 50_000; n++) set(map, `user${n}@example.com`, n);
    assert.ok(process.memoryUsage().arrayBuffers - before < 100_000);
    assert.equal(map.room, 100_000);
    assert.equal(new TextMap(50_000_000).room, 1_048_576);
  });
});
