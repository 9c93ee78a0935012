import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createKeyTable, NO_ROOM } from "../../../../../src/features/bulk/analysis/key-table.ts";
import fc from "../../../../support/properties.ts";

const word = fc.oneof(fc.nat(3), fc.constant(0xffff_ffff));
const key = fc.tuple(word, word, word, word);

describe("a table of keys", () => {
  it("knows the first row and the copies of each key that it has room for, as a map does", () =>
    fc.assert(
      fc.property(fc.array(key, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (keys, capacity) => {
        const table = createKeyTable(capacity);
        const firsts = new Map<string, number>();
        const copies = new Map<number, number>();
        for (const [row, words] of keys.entries()) {
          const name = words.join();
          if (!firsts.has(name) && firsts.size < capacity) firsts.set(name, row);
          const first = firsts.get(name) ?? NO_ROOM;
          if (first !== NO_ROOM && first !== row) copies.set(first, (copies.get(first) ?? 0) + 1);
          assert.equal(table.findOrAdd(...words, row), first);
        }
        assert.equal(table.size(), firsts.size);
        assert.deepEqual([...table.rows.subarray(0, table.size())], [...firsts.values()]);
        for (let i = 0; i < table.size(); i++)
          assert.equal(table.copies[i], copies.get(table.rows[i] ?? 0) ?? 0);
      }),
    ));

  it("forgets all when it is cleared", () => {
    const table = createKeyTable(2);
    table.findOrAdd(1, 2, 3, 4, 7);
    table.findOrAdd(1, 2, 3, 4, 8);
    table.clear();
    assert.equal(table.size(), 0);
    assert.equal(table.findOrAdd(1, 2, 3, 4, 9), 9);
    assert.equal(table.copies[0], 0);
  });

  it("forgets all when it is cleared, however little of it was used", () =>
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), fc.constantFrom(20, 1_000), (keys, capacity) => {
        const table = createKeyTable(capacity);
        const firstsOf = () => keys.map((words, row) => table.findOrAdd(...words, row));
        const firsts = firstsOf();
        table.clear();
        assert.deepEqual(firstsOf(), firsts);
        table.clear();
        assert.equal(table.findOrAdd(0xffff_ffff, 0, 0, 0, 5), 5);
      }),
    ));

  it("finds a key among those that share its first word", () => {
    const table = createKeyTable(100);
    for (let row = 0; row < 100; row++) assert.equal(table.findOrAdd(5, row, 0, 0, row), row);
    for (let row = 0; row < 100; row++) assert.equal(table.findOrAdd(5, row, 0, 0, 100 + row), row);
    assert.equal(table.findOrAdd(5, 100, 0, 0, 200), NO_ROOM);
  });
});
