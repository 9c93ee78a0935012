import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { jobOf } from "../../support/bulk.ts";
import {
  type BulkScenario,
  killed,
  openBulkScenario,
  retired,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, type ExpectedRow, listOf, type MixedList } from "../../support/mixed-list.ts";
import { until } from "../../support/until.ts";

/** Results of a long list, which are written in several parts. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

const ROWS = 20_000;
/** Long enough that the results need several parts of a multipart upload. */
const NOTE = "a note ".repeat(60);

/**
 * Most rows are malformed, so that no server has to be asked; some are addresses, and some of these are repeated later.
 */
function longList(tag: string): MixedList {
  const rows = Array.from({ length: ROWS }, (_, i): ExpectedRow => {
    const row = (input: string, verdict: ExpectedRow["verdict"], duplicateOf: number | null = null) => ({
      ...{ input, verdict, duplicateOf },
      columns: [`${tag}-${i}`, `Name, ${i}`, input, NOTE],
    });
    if (i % 100 === 7) return row(`exists-${tag}x${i}@plain.test`, "valid");
    const first = i - 3_333;
    if (first % 100 === 7 && first > 0) return row(`exists-${tag}x${first}@plain.test`, "valid", first + 1);
    return row(`no address ${i}`, "invalid");
  });
  return listOf(rows);
}

describe("the results of a long list", () => {
  it("are put together by another worker when theirs is killed half-way", async () => {
    const used = await usedOf(scenario);
    const list = longList("killed");
    /** Results whose multipart upload was started. */
    const begun = new Set<string>();
    let isHeld = true;
    scenario.storage.setFaults(({ method, path }) => {
      if (!path.includes("/results-")) return null;
      if (method === "POST") begun.add(path);
      return isHeld && method === "PUT" ? { status: 503 } : null;
    });
    const worker = await scenario.startWorker();
    const id = await submitList(scenario, list);
    await until("both formats are begun", () => begun.size === 2, 120_000);
    assert.equal((await jobOf(scenario.api, scenario.team.liveKey, id)).status, "finalizing");
    await killed(worker);
    const heir = await scenario.startWorker();
    isHeld = false;
    await assertWhole(scenario, id, list, used);
    assert.ok(begun.size > 2);
    await retired(heir);
  });
});
