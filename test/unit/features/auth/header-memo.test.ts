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

  it("expire, even without further requests", () => {
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

  it("go with any change and when their time is up, however many there are, each answered for what it is", () => {
    const { cache, entries, memo } = setUp();
    const known = Array.from({ length: 1_000 }, (_, i) => {
      const secret = newSecret(i % 2 === 0 ? "live" : "test");
      const entry = { isKey: true } as CachedCredential;
      entries.set(hashSecret(secret), entry);
      return { header: `Bearer ${secret}`, entry };
    });
    for (const round of [0, 1])
      for (const { header, entry } of known) assert.equal(memo.find(header, round), entry);
    assert.deepEqual([memo.size(), cache.reads], [1_000, 1_000]);
    cache.changes += 1;
    assert.equal(memo.find(HEADER, 2), ENTRY);
    assert.deepEqual([memo.size(), cache.reads], [1, 1_001]);
    entries.clear();
    cache.changes += 1;
    assert.deepEqual([memo.find(HEADER, 2), memo.size()], [undefined, 0]);
  });
});
