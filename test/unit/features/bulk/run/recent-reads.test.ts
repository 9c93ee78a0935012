import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createRecentReads, withRecentReads } from "../../../../../src/features/bulk/run/recent-reads.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

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

interface Begun {
  resolve(bytes: Buffer): void;
  reject(error: unknown): void;
}

/** Reads that end when the test says so. */
function setUpReads() {
  const all: Begun[] = [];
  const read = () => new Promise<Buffer>((resolve, reject) => all.push({ resolve, reject }));
  return { recent: setUp().recent, begun: { all, read } };
}

/** After all that follows from what has ended. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("what was read for a retry", () => {
  it("is read once by those that come together, and by those that come soon after", async () => {
    const { read, reads } = setUp();
    const all = await Promise.all([read("a"), read("b"), read("a")]);
    assert.deepEqual(all.map(String), ["a", "b", "a"]);
    assert.equal(String(await read("a")), "a");
    assert.deepEqual(reads, ["a", "b"]);
  });

  it("is read by one of the waiters where its reader is cancelled", async () => {
    const { recent, begun } = setUpReads();
    const leader = new AbortController();
    const first = recent.read("a", begun.read, leader.signal);
    const others = Array.from({ length: 8 }, () =>
      recent.read("a", begun.read, new AbortController().signal),
    );
    assert.equal(begun.all.length, 1);
    leader.abort(new Error("not wanted"));
    begun.all[0]?.reject(leader.signal.reason);
    await assert.rejects(first, /not wanted/);
    await settle();
    assert.equal(begun.all.length, 2, "one more, not one for each");
    begun.all[1]?.resolve(Buffer.from("bytes"));
    assert.deepEqual((await Promise.all(others)).map(String), Array(8).fill("bytes"));
    assert.equal(begun.all.length, 2);
  });

  it("fails for all waiters when it cannot be read, and is read again by the next caller", async () => {
    const { recent, begun } = setUpReads();
    const all = [1, 2, 3].map(() => recent.read("a", begun.read, new AbortController().signal));
    const ends = Promise.allSettled(all);
    begun.all[0]?.reject(new Error("no such object"));
    for (const end of await ends)
      assert.match(String(end.status === "rejected" && end.reason), /no such object/);
    assert.equal(begun.all.length, 1);
    const later = recent.read("a", begun.read);
    begun.all[1]?.resolve(Buffer.from("bytes"));
    assert.equal(String(await later), "bytes");
  });

  it("is waited for no longer than its own task is wanted", async () => {
    const { recent, begun } = setUpReads();
    const first = recent.read("a", begun.read);
    const second = new AbortController();
    const waiting = recent.read("a", begun.read, second.signal);
    assert.equal(getEventListeners(second.signal, "abort").length, 1);
    second.abort(new Error("not wanted"));
    await assert.rejects(waiting, /not wanted/);
    await assert.rejects(recent.read("a", begun.read, second.signal), /not wanted/);
    const third = new AbortController();
    const patient = recent.read("a", begun.read, third.signal);
    begun.all[0]?.resolve(Buffer.from("bytes"));
    assert.deepEqual((await Promise.all([first, patient])).map(String), ["bytes", "bytes"]);
    await settle();
    assert.equal(getEventListeners(third.signal, "abort").length, 0, "nothing is left at what lives on");
    assert.equal(begun.all.length, 1);
  });

  it("is the object that was meant, not another of the same key", async () => {
    const { recent } = setUp();
    const asked: string[] = [];
    const parts: Parameters<typeof withRecentReads>[1] = {
      streams: {
        readRange: async ({ bucket, etag }) => {
          asked.push(`${bucket} ${etag}`);
          return Buffer.from(`of ${etag}`);
        },
      },
      objects: {
        getRange: async () => {
          asked.push("objects");
          return Buffer.from("of any");
        },
      },
    };
    const { streams, objects } = withRecentReads(recent, parts);
    const range = { firstByte: 5, bytes: 7 };
    const read = async (etag: string, bucket: string | null = null) =>
      String(await streams.readRange({ bucket, key: "rows", etag }, range));
    assert.deepEqual(
      [await read('"1"'), await read('"2"'), await read('"1"')],
      ['of "1"', 'of "2"', 'of "1"'],
    );
    assert.equal(String(await objects.getRange("rows", range)), "of any");
    assert.deepEqual(asked, ['null "1"', 'null "2"', "objects"]);
    // Reads of a customer's bucket are not kept: our access to it may have been revoked meanwhile.
    await read('"1"', "theirs");
    await read('"1"', "theirs");
    assert.deepEqual(asked.slice(3), ['theirs "1"', 'theirs "1"']);
  });

  it("expires, even without a further read", async () => {
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
