import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type BulkScenario,
  isShardOf,
  obstruct,
  openBulkScenario,
  stands,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, mixedList } from "../../support/mixed-list.ts";

/** Redis that is emptied, or restarted with its data or without, in the middle of a job. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
  await Promise.all([scenario.startWorker(), scenario.startWorker()]);
});
after(() => scenario.close());

/** Runs a job, with `disturb` when some of its rows are answered and some are not. */
async function runDisturbed(tag: string, disturb: () => Promise<void>): Promise<void> {
  const used = await usedOf(scenario);
  const list = mixedList({ tag, rows: 2_500 });
  const release = obstruct(scenario, isShardOf(2));
  try {
    const id = await submitList(scenario, list);
    await stands(scenario, id, "some rows are answered", ({ rows }) => rows.processed > 0);
    await disturb();
    const { status } = await stands(scenario, id, "the job is shown", () => true);
    assert.equal(status, "processing");
    release();
    await assertWhole(scenario, id, list, used);
    await streamEmpties(scenario);
  } finally {
    release();
  }
}

describe("in the middle of a job Redis", () => {
  it("is emptied: what is lost is emitted again", () => runDisturbed("flush", scenario.redis.flushAll));

  it("is restarted with its data", () =>
    runDisturbed("kept", async () => {
      await scenario.redis.stop();
      await scenario.redis.start("kept");
    }));

  it("is restarted without its data", () =>
    runDisturbed("lost", async () => {
      await scenario.redis.stop();
      await scenario.redis.start("lost");
    }));
});
