import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, resultLines } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import {
  type BulkScenario,
  killed,
  openBulkScenario,
  retired,
  streamEmpties,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { until } from "../../support/until.ts";

/** A worker that is killed in a job with `split_cells`. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

const ROWS = 700;
const cells = Array.from(
  { length: ROWS },
  (_, i) => `exists-k${i}@plain.test missing-k${i}@plain.test / exists-k${i + 1}@plain.test`,
);

describe("a worker of a job with split_cells", () => {
  it("is killed: each row comes back with all its addresses, each charged once", async () => {
    const { api, team, deployment } = scenario;
    const used = await usedOf(scenario);
    const host = deployment.world.host("mx.plain.test");
    const asked = () => host.account.accepted + host.account.rejected;
    const upload_id = await uploaded(api, team.liveKey, `email\n${cells.join("\n")}\n`);
    const { body } = await submitAs(api, team.liveKey, { upload_id, split_cells: true });
    const worker = await scenario.startWorker();
    await until("some are asked after", () => asked() > 300, 120_000);
    await killed(worker);
    const heir = await scenario.startWorker();
    const done = await ended(api, team.liveKey, body.id, 240_000);
    const rows = { total: 3 * ROWS, processed: 3 * ROWS, deferred: 0, duplicates: ROWS - 1 };
    assert.deepEqual(done.rows, { ...rows, malformed: 0, empty: 0 }, JSON.stringify(done.error));
    const lines = await resultLines(api, team.liveKey, body.id);
    assert.deepEqual(
      lines.map((line) => {
        const { row, input, parts = [] } = line as { row: number; input: string; parts?: (typeof line)[] };
        return [row, input, ...parts.map(({ verdict, duplicate_of }) => `${verdict} ${duplicate_of}`)];
      }),
      cells.map((cell, i) => [i + 1, cell, `valid ${i === 0 ? null : i}`, "invalid null", "valid null"]),
    );
    assert.equal(await usedOf(scenario), used + 2 * ROWS + 1);
    await streamEmpties(scenario);
    await retired(heir);
  });
});
