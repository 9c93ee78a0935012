import { after, before, describe, it } from "node:test";
import {
  type BulkScenario,
  openBulkScenario,
  stands,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, mixedList } from "../../support/mixed-list.ts";
import type { ObjectRequest } from "../../support/object-gate.ts";
import { type OwnPostgres, startOwnPostgres } from "../../support/own-services.ts";
import { until } from "../../support/until.ts";

/** PostgreSQL that is restarted while a job is analysed, verified and put together. */
let postgres: OwnPostgres;
let scenario: BulkScenario;

before(async () => {
  postgres = await startOwnPostgres();
  scenario = await openBulkScenario({ postgresUrl: postgres.url });
  await scenario.startWorker();
});
after(async () => {
  try {
    await scenario.close();
  } finally {
    await postgres.close();
  }
});

/** Restarts PostgreSQL at the moment the worker makes such a request of object storage, which then is answered. */
async function runRestarted(
  tag: string,
  how: "fast" | "crash",
  when: (request: ObjectRequest) => boolean,
): Promise<void> {
  const used = await usedOf(scenario);
  const list = mixedList({ tag, rows: 2_500 });
  let stopped: Promise<void> | null = null;
  scenario.storage.setFaults((request) => {
    if (stopped === null && when(request)) stopped = postgres.stop(how);
    return null;
  });
  const id = await submitList(scenario, list);
  await until(`the moment comes: ${tag}`, () => stopped !== null, 120_000);
  await stopped;
  await postgres.start();
  scenario.storage.setFaults(() => null);
  await stands(scenario, id, "the job is shown", () => true);
  await assertWhole(scenario, id, list, used);
  await streamEmpties(scenario);
}

describe("PostgreSQL is restarted", () => {
  it("while a list is analysed", () =>
    runRestarted("analysis", "fast", ({ method, path }) => method === "GET" && path.includes("/uploads/")));

  it("while its chunks are verified", () =>
    runRestarted("chunks", "crash", ({ method, path }) => method === "PUT" && path.includes("/shards/")));

  it("while its results are put together", () =>
    runRestarted("assembly", "crash", ({ path }) => path.includes("/results-")));
});
