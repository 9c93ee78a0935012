import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../src/core/limits.ts";
import { jobOf } from "../support/bulk.ts";
import {
  type BulkScenario,
  isShardOf,
  killed,
  openBulkScenario,
  retired,
  submitList,
  usedOf,
} from "../support/bulk-scenario.ts";
import { assertWhole, type ExpectedRow, listOf, type MixedList } from "../support/mixed-list.ts";
import type { MainProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";

/** Results of a long list, which are put together while its last chunk is still to come. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

const ROWS = LIMITS.bulk.early.rows;
const LAST_CHUNK = ROWS / LIMITS.bulk.rowsPerChunk - 1;
/** So long that results come to several parts of an object long before the last row. */
const NOTE = "a note ".repeat(60);

/** Most rows are no addresses, so that no server has to be asked; some are, and some of these again later. */
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

interface Begun {
  id: string;
  list: MixedList;
  used: number;
  worker: MainProcess;
  /** Objects of results that were begun in parts. */
  begun: Set<string>;
  /** The last chunk may end. */
  release(): void;
}

/** A job all of whose chunks but the last are done, and whose results are under way. */
async function begin(tag: string): Promise<Begun> {
  const used = await usedOf(scenario);
  const list = longList(tag);
  const begun = new Set<string>();
  const isLast = isShardOf(LAST_CHUNK);
  let isHeld = true;
  scenario.storage.setFaults((request) => {
    const { method, path } = request;
    if (method === "POST" && path.includes("/results-")) begun.add(path);
    return isHeld && isLast(request) ? { status: 503 } : null;
  });
  const worker = await scenario.startWorker();
  const id = await submitList(scenario, list);
  await until("the results are under way", () => begun.size === 2, 120_000);
  assert.equal((await jobOf(scenario.api, scenario.team.liveKey, id)).status, "processing");
  const release = () => {
    isHeld = false;
  };
  return { id, list, used, worker, begun, release };
}

describe("the results of a long list", () => {
  it("are under way before its last row is answered, and are written once", async () => {
    const { id, list, used, worker, begun, release } = await begin("early");
    release();
    await assertWhole(scenario, id, list, used);
    assert.equal(begun.size, 2);
    await retired(worker);
  });

  it("are put together by another worker when theirs is killed", async () => {
    const { id, list, used, worker, begun, release } = await begin("killed");
    const heir = await scenario.startWorker();
    await killed(worker);
    release();
    await assertWhole(scenario, id, list, used);
    assert.ok(begun.size > 2);
    await retired(heir);
  });
});
