import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import {
  EVIDENCE,
  entryOf,
  question,
  type Sent,
  shown,
  createBatchWorld as world,
} from "../../../support/batch-world.ts";

const PATIENT = { refresh: () => false, waitsForSite: true };
/** A thread that has no room for rows of a chunk, and answers those that stay. */
const busyAtFirst = (batch: Sent) =>
  batch.answer(
    batch.addresses.map(() =>
      batch.mode === "bulk" ? { deferred: { site: "slow.test", cause: "busy" } } : EVIDENCE,
    ),
  );

describe("rows that are asked about again", () => {
  it("are not looked for in Redis a second time, nor longer than what it said then may be believed", async () => {
    const { examine, clock, seen } = world(busyAtFirst);
    const rows = [question("a@slow.test"), question("b@slow.test")];
    assert.deepEqual(shown(await examine(rows).done), ["busy slow.test", "busy slow.test"]);
    clock.advance(LIMITS.bulk.soughtMs - 1);
    assert.deepEqual(shown(await examine(rows, PATIENT).done), ["fresh", "fresh"]);
    assert.deepEqual(seen.fetches, [2]);
    clock.advance(1);
    assert.deepEqual(shown(await examine(rows, PATIENT).done), ["fresh", "fresh"]);
    assert.deepEqual(seen.fetches, [2, 2]);
  });

  it("are looked for where others are alone in having been: each for itself, in their order", async () => {
    const { examine, redis, seen, sent } = world(busyAtFirst);
    const [first, second, third] = ["a", "b", "c"].map((local) => question(`${local}@slow.test`));
    assert(first && second && third);
    await examine([second]).done;
    redis.set("c@slow.test", entryOf(1));
    assert.deepEqual(shown(await examine([first, second, third], PATIENT).done), [
      "fresh",
      "fresh",
      "cached",
    ]);
    assert.deepEqual(seen.fetches, [1, 2]);
    assert.deepEqual(sent[1]?.addresses, ["a@slow.test", "b@slow.test"]);
  });

  it("are looked for again where Redis could not be reached", async () => {
    const { examine, redis, seen, outage } = world(busyAtFirst);
    const one = question("a@slow.test");
    outage.is = true;
    assert.deepEqual(shown(await examine([one]).done), ["busy slow.test"]);
    outage.is = false;
    redis.set("a@slow.test", entryOf(1));
    assert.deepEqual(shown(await examine([one], PATIENT).done), ["cached"]);
    assert.deepEqual(seen.fetches, [1, 1]);
  });

  it("are answered by what memory learnt meanwhile, also where it had been asked before", async () => {
    const { examine, memory, seen, sent } = world(busyAtFirst);
    const one = question("a@slow.test", { isMemoryMiss: true });
    await examine([one]).done;
    memory.set("a@slow.test", entryOf(1));
    assert.deepEqual(shown(await examine([one], PATIENT).done), ["cached"]);
    assert.deepEqual([seen.fetches, sent.length], [[1], 1]);
  });

  it("are looked for again where Redis had what would not do", async () => {
    const { examine, redis, seen } = world(busyAtFirst);
    const one = question("a@slow.test");
    redis.set("a@slow.test", entryOf(1));
    const options = { refresh: () => true, waitsForSite: false };
    await examine([one], options).done;
    await examine([one], { ...options, waitsForSite: true }).done;
    assert.deepEqual(seen.fetches, [1, 1]);
  });
});
