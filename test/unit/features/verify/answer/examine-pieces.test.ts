import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CheckOutcome } from "../../../../../src/engine/threads/thread-tasks.ts";
import type { BatchOptions } from "../../../../../src/features/verify/batch/examine-batch.ts";
import {
  EVIDENCE,
  question,
  rest,
  shown,
  createBatchWorld as world,
} from "../../../../support/batch-world.ts";

describe("many questions of which some are asked at once", () => {
  const { batchAddresses } = LIMITS.check;
  const MANY = 2 * batchAddresses + 1;
  const OPTIONS: BatchOptions = { refresh: () => false, waitsForSite: true, atOnce: 20 };
  const many = () => Array.from({ length: MANY }, (_, i) => question(`a${i}@one.test`));

  it("are with one thread at a time, as many as a batch may have, in order", async () => {
    const { examine, sent } = world();
    const run = examine(many(), OPTIONS);
    for (const rows of [batchAddresses, batchAddresses, 1]) {
      await rest();
      const last = sent.at(-1);
      assert.deepEqual([last?.addresses.length, last?.atOnce, last?.mode], [rows, 20, "patient"]);
      last?.answer(last.addresses.map(() => EVIDENCE));
    }
    assert.deepEqual(new Set(shown(await run.done)), new Set(["fresh"]));
    assert.equal(sent.length, 3);
    assert.deepEqual(
      sent.flatMap(({ addresses }) => addresses),
      many().map(({ email }) => email),
    );
  });

  it("have one end: what was not sent by then is unfinished, and never is", async () => {
    for (const halt of ["in", "off"] as const) {
      const { examine, sent, controls } = world();
      const run = examine(many(), OPTIONS);
      await rest();
      assert.equal(run.left, MANY);
      if (halt === "in") run.stopWaiting();
      else controls.cancel();
      assert.deepEqual(sent[0]?.halts, [halt]);
      const unfinished: CheckOutcome = { deferred: { site: "one.test", cause: "unfinished" } };
      sent[0]?.answer(sent[0].addresses.map((_, i) => (i === 0 ? EVIDENCE : unfinished)));
      const answers = shown(await run.done);
      assert.deepEqual([answers.length, answers.filter((one) => one === "fresh").length], [MANY, 1]);
      assert.equal(sent.length, 1);
    }
  });

  it("that are no more than those go as ever: batches side by side", async () => {
    const { examine, sent } = world();
    const run = examine(many(), { ...OPTIONS, atOnce: MANY });
    await rest();
    assert.deepEqual(
      sent.map(({ addresses, atOnce }) => addresses.length === atOnce && atOnce <= LIMITS.bulk.batchRows),
      new Array(Math.ceil(MANY / LIMITS.bulk.batchRows)).fill(true),
    );
    for (const batch of sent) batch.answer(batch.addresses.map(() => EVIDENCE));
    await run.done;
  });
});
