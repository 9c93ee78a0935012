import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CheckOutcome } from "../../../../../src/engine/threads/thread-tasks.ts";
import {
  EVIDENCE,
  question,
  rest,
  shown,
  createBatchWorld as world,
} from "../../../../support/batch-world.ts";

const AT_ONCE = 20;
const AHEAD = AT_ONCE * LIMITS.bulk.aheadFillings;
const OPTIONS = { refresh: () => false, waitsForSite: true, atOnce: AT_ONCE };
const rows = () => Array.from({ length: 400 }, (_, i) => question(`a${i}@slow.test`));

describe("rows that stand in a long line", () => {
  it("are looked up before their turn comes, those in front at once, and sent behind these, all in order", async () => {
    const { examine, sent, seen, clock } = world();
    const run = examine(rows(), OPTIONS);
    await rest();
    assert.deepEqual(seen.fetches, [AHEAD]);
    await clock.advanceAsync(LIMITS.bulk.aheadMs - 1);
    assert.deepEqual([sent.length, run.left], [1, 400]);
    await clock.advanceAsync(1);
    assert.deepEqual(seen.fetches, [AHEAD, 400 - AHEAD]);
    // Places count `atOnce` rows of the run: both beside each other would be twice as many.
    await rest();
    assert.equal(sent.length, 1);
    sent[0]?.answer(sent[0].addresses.map(() => EVIDENCE));
    await rest();
    assert.deepEqual(
      sent.flatMap(({ addresses }) => addresses),
      rows().map(({ email }) => email),
    );
    sent[1]?.answer(sent[1].addresses.map(() => EVIDENCE));
    assert.deepEqual(new Set(shown(await run.done)), new Set(["fresh"]));
    assert.equal(clock.pending, 0);
  });

  it("come as soon as those in front have their answers", async () => {
    const { examine, sent, clock } = world();
    const run = examine(rows(), OPTIONS);
    await rest();
    sent[0]?.answer(sent[0].addresses.map(() => EVIDENCE));
    await rest();
    assert.equal(sent[1]?.addresses.length, 400 - AHEAD);
    assert.equal(clock.pending, 0);
    sent[1]?.answer(sent[1].addresses.map(() => EVIDENCE));
    await run.done;
  });

  it("are unfinished, and never sent, when the run ends before", async () => {
    for (const halt of ["in", "off"] as const) {
      const { examine, sent, seen, controls, clock } = world();
      const run = examine(rows(), OPTIONS);
      await rest();
      if (halt === "in") run.stopWaiting();
      else controls.cancel();
      const unfinished: CheckOutcome = { deferred: { site: "slow.test", cause: "unfinished" } };
      sent[0]?.answer(sent[0].addresses.map((_, i) => (i === 0 ? EVIDENCE : unfinished)));
      const answers = shown(await run.done);
      assert.deepEqual([answers.length, answers.filter((one) => one === "fresh").length], [400, 1]);
      assert.deepEqual([sent.length, seen.fetches, clock.pending], [1, [AHEAD], 0]);
    }
  });
});
