import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type BulkScenario,
  openBulkScenario,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, mixedList } from "../../support/mixed-list.ts";
import type { ObjectFault, ObjectRequest } from "../../support/object-gate.ts";

/** Object storage that fails its workers for a while in each stage of a job. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
  await scenario.startWorker();
});
after(() => scenario.close());

type Stage = "analysis" | "chunks" | "assembly";

/** Determines the stage of each request, from the requests in order. */
function createStages(): (request: ObjectRequest) => Stage {
  let stage: Stage = "analysis";
  return ({ method, path, range }) => {
    // A chunk reads the bytes from one to another, the analysis all there are; shards are read to be put together.
    if (stage === "analysis" && method === "GET" && /^bytes=\d+-\d+$/.test(range ?? "")) stage = "chunks";
    if (method === "GET" && path.includes("/shards/")) stage = "assembly";
    if (path.includes("/results-")) stage = "assembly";
    return stage;
  };
}

/** Runs a job; in each stage the first `count` requests that `isMeant` meet with the fault. */
async function runFailing(
  tag: string,
  fault: ObjectFault,
  count: number,
  isMeant: (request: ObjectRequest) => boolean = () => true,
): Promise<void> {
  const used = await usedOf(scenario);
  const list = mixedList({ tag, rows: 1_500 });
  const left = { analysis: count, chunks: count, assembly: count };
  const stageOf = createStages();
  scenario.storage.setFaults((request) => {
    const stage = stageOf(request);
    if (!isMeant(request) || left[stage] === 0) return null;
    left[stage] -= 1;
    return fault;
  });
  const id = await submitList(scenario, list);
  await assertWhole(scenario, id, list, used);
  assert.deepEqual(left, { analysis: 0, chunks: 0, assembly: 0 });
  await streamEmpties(scenario);
  // A failure of a store is no delivery.
  const tasks = await scenario.deployment.sql`select deliveries from job_tasks where job_id = ${id}`;
  assert.deepEqual(new Set(tasks.map(({ deliveries }) => deliveries)), new Set([1]));
}

/** More than one task tries before it waits. */
const OUTAGE = 15;
const isRead = ({ method }: ObjectRequest) => method === "GET";

describe("object storage that, in each stage of a job,", () => {
  it("answers 500 for a while", () => runFailing("s500", { status: 500 }, OUTAGE));

  it("answers 503 for a while", () => runFailing("s503", { status: 503 }, OUTAGE));

  it("is slow", () => runFailing("slow", { bytesPerSecond: 60_000 }, 1, isRead));

  it("cuts its answers", () => runFailing("cut", { cutAfterBytes: 300 }, 2, isRead));

  it("does not answer", () => runFailing("silent", "silence", 2));
});
