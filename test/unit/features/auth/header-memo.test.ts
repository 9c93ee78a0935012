import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { CachedCredential } from "../../../../src/features/auth/cache.ts";
import { createHeaderMemo } from "../../../../src/features/auth/header-memo.ts";
import { hashSecret, newSecret } from "../../../../src/features/identity/api-key.ts";

const ENTRY = { isKey: true } as CachedCredential;
const SECRET = newSecret("live");
const HEADER = `Bearer ${SECRET}`;

function setUp() {
  const entries = new Map([[hashSecret(SECRET), ENTRY]]);
  const cache = {
    changes: 0,
    reads: 0,
    epoch: () => cache.changes,
    get(hash: string) {
      cache.reads += 1;
      return entries.get(hash);
    },
  };
  return { cache, entries, memo: createHeaderMemo(cache) };
}

describe("entries by their header", () => {
  it("are looked up once in their time, and again after any change", () => {
    const { cache, entries, memo } = setUp();
    assert.equal(memo.find(HEADER, 0), ENTRY);
    assert.equal(memo.find(HEADER, LIMITS.keys.headerMs - 1), ENTRY);
    assert.equal(cache.reads, 1);
    assert.equal(memo.find(HEADER, LIMITS.keys.headerMs), ENTRY);
    assert.equal(cache.reads, 2);
    entries.clear();
    cache.changes += 1;
    assert.equal(memo.find(HEADER, LIMITS.keys.headerMs), undefined);
  });

  it("go when their time is up, though nobody asks any more", () => {
    const { memo } = setUp();
    memo.find(HEADER, 0);
    memo.expire(LIMITS.keys.headerMs - 1);
    assert.equal(memo.size(), 1);
    memo.expire(LIMITS.keys.headerMs);
    assert.equal(memo.size(), 0);
  });

  it("are not held of what is unknown, or written otherwise", () => {
    const { memo } = setUp();
    for (const header of ["", SECRET, `bearer ${SECRET}`, `${HEADER} `, `Bearer ${newSecret("live")}`])
      assert.equal(memo.find(header, 0), undefined);
    assert.equal(memo.size(), 0);
  });

  /** The same as far as its seats go by it. @param shift of what is behind */
  const twinOf = (shift: number) => {
    const rest = SECRET.slice(18);
    return `${SECRET.slice(0, 18)}${rest.slice(shift)}${rest.slice(0, shift)}`;
  };

  it("have two seats for those who meet in one, and share these by turns, each answered for what it is", () => {
    const { cache, entries, memo } = setUp();
    const others = [1, 2].map((shift) => {
      const entry = { isKey: true } as CachedCredential;
      entries.set(hashSecret(twinOf(shift)), entry);
      return { header: `Bearer ${twinOf(shift)}`, entry };
    });
    const [one, two] = others as [(typeof others)[0], (typeof others)[0]];
    for (let i = 0; i < 3; i++) {
      assert.equal(memo.find(HEADER, 0), ENTRY);
      assert.equal(memo.find(one.header, 0), one.entry);
      assert.deepEqual([memo.size(), cache.reads], [2, 2]);
    }
    for (let i = 1; i <= 3; i++) {
      assert.equal(memo.find(two.header, 0), two.entry);
      assert.equal(memo.find(HEADER, 0), ENTRY);
      assert.equal(memo.find(one.header, 0), one.entry);
      assert.deepEqual([memo.size(), cache.reads], [2, 2 + 3 * i]);
    }
  });

  it("leave both seats when something changes, and when their time is up", () => {
    const { cache, entries, memo } = setUp();
    entries.set(hashSecret(twinOf(1)), { isKey: true } as CachedCredential);
    const both = [HEADER, `Bearer ${twinOf(1)}`];
    const find = (nowMs: number) => both.map((header) => memo.find(header, nowMs) !== undefined);
    assert.deepEqual([find(0), memo.size()], [[true, true], 2]);
    cache.changes += 1;
    assert.deepEqual([find(0), cache.reads], [[true, true], 4]);
    memo.expire(LIMITS.keys.headerMs);
    assert.deepEqual([memo.size(), find(LIMITS.keys.headerMs), cache.reads], [0, [true, true], 6]);
    entries.clear();
    cache.changes += 1;
    assert.deepEqual([find(LIMITS.keys.headerMs), memo.size()], [[false, false], 0]);
  });

  it("of a thousand nearly all keep their seats", () => {
    const entries = new Map<string, CachedCredential>();
    let reads = 0;
    const memo = createHeaderMemo({
      epoch: () => 0,
      get(hash) {
        reads += 1;
        return entries.get(hash);
      },
    });
    const known = Array.from({ length: 1_000 }, (_, i) => {
      const secret = newSecret(i % 2 === 0 ? "live" : "test");
      const entry = { isKey: true } as CachedCredential;
      entries.set(hashSecret(secret), entry);
      return { header: `Bearer ${secret}`, entry };
    });
    for (const round of [0, 1])
      for (const { header, entry } of known) assert.equal(memo.find(header, round), entry);
    // By chance two or three come third to a pair of seats, and all three of it miss each other: with one seat each 60 would.
    assert.ok(memo.size() > 985 && memo.size() <= 1_000, `${memo.size()}`);
    assert.ok(reads - 1_000 < 40, `${reads}`);
  });
});
