import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFreshChunks, type FreshChunk } from "../../../src/bulk/fresh-chunks.ts";

const BYTES = 100;

/** Chunks of 10 bytes that stand side by side, each with a shard of 5. */
function chunkOf(number: number, more: Partial<FreshChunk> = {}): FreshChunk {
  const range = { firstByte: number * 10, bytes: 10 };
  return {
    shardKey: `shard-${number}`,
    shard: Buffer.alloc(5, `${number}`),
    range,
    rows: Buffer.alloc(10, `${number}`),
    ...more,
  };
}

const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString());

describe("chunks in memory", () => {
  it("are given once, each by itself or with those beside it", () => {
    const fresh = createFreshChunks(BYTES);
    for (const number of [1, 0, 2]) fresh.add(chunkOf(number));
    assert.equal(textOf(fresh.takeShard("shard-0")), "00000");
    assert.equal(textOf(fresh.takeShard("shard-1")), "11111");
    assert.equal(textOf(fresh.takeRows({ firstByte: 0, bytes: 20 })), "00000000001111111111");
    assert.equal(fresh.takeShard("shard-1"), null);
    assert.equal(fresh.takeRows({ firstByte: 0, bytes: 20 }), null);
    assert.equal(textOf(fresh.takeRows({ firstByte: 20, bytes: 10 })), "2222222222");
    assert.equal(textOf(fresh.takeShard("shard-2")), "22222");
    assert.equal(fresh.heldBytes, 0);
  });

  it("are buffers of their own, whole where they are so already", () => {
    const fresh = createFreshChunks(BYTES);
    const pool = Buffer.from("abcdefghij0123456789");
    const whole = new Uint8Array(5);
    fresh.add(chunkOf(0, { shard: whole, rows: pool.subarray(0, 10) }));
    assert.equal(fresh.takeShard("shard-0")?.buffer, whole.buffer);
    const rows = fresh.takeRows({ firstByte: 0, bytes: 10 });
    assert.deepEqual([textOf(rows), rows?.buffer.byteLength], ["abcdefghij", 10]);
  });

  it("do not give a part of what is asked for, nor rows that are to be read anew", () => {
    const fresh = createFreshChunks(BYTES);
    fresh.add(chunkOf(0));
    fresh.add(chunkOf(2));
    fresh.add(chunkOf(3, { rows: null }));
    assert.equal(fresh.takeRows({ firstByte: 0, bytes: 30 }), null);
    assert.equal(fresh.takeRows({ firstByte: 0, bytes: 5 }), null);
    assert.equal(fresh.takeRows({ firstByte: 20, bytes: 20 }), null);
    assert.equal(textOf(fresh.takeShard("shard-3")), "33333");
  });

  it("are forgotten when the join is past them, and with it", () => {
    const fresh = createFreshChunks(BYTES);
    for (const number of [0, 1, 2]) fresh.add(chunkOf(number));
    fresh.takeRows({ firstByte: 20, bytes: 10 });
    assert.deepEqual([fresh.takeShard("shard-0"), fresh.heldBytes], [null, 5]);
    fresh.close();
    assert.equal(fresh.takeShard("shard-2"), null);
    fresh.add(chunkOf(3));
    assert.equal(fresh.heldBytes, 0);
  });

  it("keep within their bound: what comes when they are full is not kept", () => {
    const fresh = createFreshChunks(40);
    for (const number of [0, 1, 2]) fresh.add(chunkOf(number));
    assert.equal(fresh.heldBytes, 30);
    assert.equal(fresh.takeShard("shard-2"), null);
    fresh.takeRows({ firstByte: 10, bytes: 10 });
    fresh.add(chunkOf(2));
    assert.equal(textOf(fresh.takeShard("shard-2")), "22222");
    // Another attempt at a chunk.
    fresh.add(chunkOf(2, { shardKey: "again" }));
    assert.equal(fresh.takeShard("again"), null);
  });
});
