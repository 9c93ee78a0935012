import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRecentReads } from "../../../src/bulk/recent-reads.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setUp() {
  const clock = createFakeClock();
  // Time 0 is no time to the cache.
  clock.advance(1);
  const recent = createRecentReads(clock);
  const reads: string[] = [];
  const read = (key: string, bytes = Buffer.from(key)) =>
    recent.read(key, async () => {
      reads.push(key);
      return bytes;
    });
  return { clock, recent, reads, read };
}

describe("what was read for a retry", () => {
  it("is read once by those that come together, and by those that come soon after", async () => {
    const { read, reads } = setUp();
    const all = await Promise.all([read("a"), read("b"), read("a")]);
    assert.deepEqual(all.map(String), ["a", "b", "a"]);
    assert.equal(String(await read("a")), "a");
    assert.deepEqual(reads, ["a", "b"]);
  });

  it("is read by each for himself where the one who was to read it could not", async () => {
    const { recent, read, reads } = setUp();
    let fail = () => {};
    const failing = new Promise<Buffer>((_, reject) => {
      fail = () => reject(new Error("cancelled"));
    });
    const first = recent.read("a", () => failing);
    const second = read("a");
    fail();
    await assert.rejects(first, /cancelled/);
    assert.equal(String(await second), "a");
    assert.deepEqual(reads, ["a"]);
  });

  it("is forgotten with its time, also when nobody comes for it", async () => {
    const { recent, clock, read, reads } = setUp();
    await read("a");
    assert.ok(recent.heldBytes > 0);
    clock.advance(LIMITS.bulk.recentMs + 1);
    await read("a");
    assert.deepEqual(reads, ["a", "a"]);
    clock.advance(2 * LIMITS.bulk.recentMs);
    assert.deepEqual([recent.heldBytes, clock.pending], [0, 0]);
  });

  it("is forgotten before it takes more memory than it may, the longest unused first", async () => {
    const { recent, read, reads } = setUp();
    const { chunkBytes, recentBytes } = LIMITS.bulk;
    const bytes = Buffer.alloc(chunkBytes);
    const most = recentBytes / chunkBytes;
    for (let i = 0; i < most; i++) await read(`chunk ${i}`, bytes);
    assert.ok(recent.heldBytes <= recentBytes);
    await read(`chunk ${most - 1}`, bytes);
    assert.equal(reads.length, most, "the last is at hand");
    await read("chunk 0", bytes);
    assert.equal(reads.length, most + 1, "the first is not");
  });
});
