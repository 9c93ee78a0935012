import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DistinctRow } from "../../../src/bulk/chunk-rows.ts";
import { createKeptRows } from "../../../src/bulk/kept-rows.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { ChunkTask, Deferral, RetryTask } from "../../../src/store/job-tasks.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const OURS = { bucket: null, key: "teams/t/jobs/j/source", etag: null };

const chunkOf = (number: number, jobId = "job", place: ChunkTask["place"] = OURS) =>
  ({ kind: "chunk", jobId, number, place }) as ChunkTask;
const retryOf = (chunk: number, rowSet: Buffer, jobId = "job") =>
  ({ kind: "retry", jobId, number: 99, chunk, rowSet, place: OURS }) as RetryTask;
const deferralOf = (rowSet: Buffer) => ({ rowSet }) as Deferral;

/** Time 0 is no time to the cache. */
function clockAt(ms: number) {
  const clock = createFakeClock();
  clock.advance(ms);
  return clock;
}

const rowsOf = (count: number): DistinctRow[] =>
  Array.from({ length: count }, (_, offset) => ({
    offset,
    email: `"a\\"é${offset}"@x.example`,
    copies: offset,
  }));

describe("rows that were put off", () => {
  it("are at hand for the retry of just these, once", () => {
    const kept = createKeptRows(clockAt(1));
    const rows = rowsOf(16);
    const [low, high] = [Buffer.of(0b101, 0), Buffer.of(0, 0b11)];
    kept.keep(chunkOf(3), rows, [deferralOf(low), deferralOf(high)]);
    for (const other of [retryOf(2, low), retryOf(3, low, "other"), retryOf(3, Buffer.of(0b1, 0))])
      assert.equal(kept.take(other), null);
    assert.deepEqual(kept.take(retryOf(3, high)), [rows[8], rows[9]]);
    assert.deepEqual(kept.take(retryOf(3, low)), [rows[0], rows[2]]);
    assert.equal(kept.take(retryOf(3, low)), null);
  });

  it("of a retry are at hand for the one that comes of it", () => {
    const kept = createKeptRows(clockAt(1));
    const [before, after] = [Buffer.of(0b110), Buffer.of(0b100)];
    kept.keep(retryOf(3, before), rowsOf(8).slice(1, 3), [deferralOf(after)]);
    assert.deepEqual(kept.take(retryOf(3, after)), rowsOf(8).slice(2, 3));
  });

  it("of a list in somebody else's bucket are not: it may be ours to read no longer", () => {
    const kept = createKeptRows(clockAt(1));
    const theirs = { bucket: "theirs", key: "list.csv", etag: '"1"' };
    kept.keep(chunkOf(3, "job", theirs), rowsOf(8), [deferralOf(Buffer.of(1))]);
    assert.equal(kept.take(retryOf(3, Buffer.of(1))), null);
  });

  it("are forgotten with their time, also when nobody comes for them", () => {
    const { keptRowsMs } = LIMITS.bulk;
    const clock = clockAt(1);
    const kept = createKeptRows(clock);
    const [first, second] = [Buffer.of(1), Buffer.of(2)];
    kept.keep(chunkOf(3), rowsOf(8), [deferralOf(first), deferralOf(second)]);
    clock.advance(keptRowsMs);
    assert.deepEqual(kept.take(retryOf(3, first)), [rowsOf(1)[0]]);
    clock.advance(1);
    assert.equal(kept.take(retryOf(3, second)), null);

    kept.keep(chunkOf(4), rowsOf(8), [deferralOf(first)]);
    assert.ok(kept.heldBytes > 0);
    clock.advance(2 * keptRowsMs);
    assert.equal(kept.heldBytes, 0);
    assert.equal(clock.pending, 0);
  });

  it("are forgotten before they take more memory than they may, the oldest first", () => {
    const kept = createKeptRows(clockAt(1));
    const rowSet = Buffer.of(1);
    const email = "a".repeat(LIMITS.bulk.recordBytes);
    const most = LIMITS.bulk.keptRowsBytes / email.length;
    for (let number = 0; number < most; number++)
      kept.keep(chunkOf(number), [{ offset: 0, email, copies: 0 }], [deferralOf(rowSet)]);
    assert.equal(kept.take(retryOf(0, rowSet)), null);
    assert.notEqual(kept.take(retryOf(most - 1, rowSet)), null);
  });
});
