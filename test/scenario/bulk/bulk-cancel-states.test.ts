import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { BulkJob } from "../../../src/features/bulk/jobs/job-view.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStore, type ObjectStore } from "../../../src/stores/objects/objects.ts";
import { jobOf, ledgerState, resultLines, submitted } from "../../support/bulk.ts";
import {
  type BulkScenario,
  isShardOf,
  obstruct,
  openBulkScenario,
  retired,
  stands,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { type ExpectedRow, mixedList } from "../../support/mixed-list.ts";
import type { MainProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { listBelow } from "../../support/uploads.ts";

/** Jobs cancelled or deleted in every state: answered rows are charged and can be read; nothing else remains. */
let scenario: BulkScenario;
let store: ObjectStore;
let worker: MainProcess | null = null;
let release = () => {};

before(async () => {
  scenario = await openBulkScenario();
  const { settings } = scenario.deployment;
  store = createObjectStore(
    {
      endpoint: settings.S3_ENDPOINT ?? "",
      publicEndpoint: null,
      region: settings.S3_REGION ?? "",
      bucket: settings.S3_BUCKET ?? "",
      credentials: {
        accessKeyId: settings.S3_ACCESS_KEY_ID ?? "",
        secretAccessKey: settings.S3_SECRET_ACCESS_KEY ?? "",
      },
    },
    systemClock,
  );
});
afterEach(async () => {
  release();
  if (worker !== null) await retired(worker);
  worker = null;
});
after(async () => {
  store.stop();
  await scenario.close();
});

interface HeldJob {
  id: string;
  rows: readonly ExpectedRow[];
}

/** Brings a job into a state, and holds it there. */
type HoldJob = (tag: string) => Promise<HeldJob>;

const list = (tag: string) => mixedList({ tag, rows: 2_500 });

async function work(): Promise<void> {
  worker = await scenario.startWorker({ DEFERRAL_FIRST_S: "3600" });
}

const queued: HoldJob = async (tag) => {
  const { rows, csv } = list(tag);
  return { id: await submitList(scenario, { csv }), rows };
};

const analyzing: HoldJob = async (tag) => {
  release = obstruct(scenario, ({ path }) => path.includes("/repeats"));
  const held = await queued(tag);
  await work();
  return held;
};

const processing: HoldJob = async (tag) => {
  release = obstruct(scenario, isShardOf(1));
  const held = await queued(tag);
  await work();
  await until(
    "two chunks are done",
    async () => {
      const [row] = await scenario.deployment.sql<[{ done: number }]>`
      select count(*)::int as done from job_tasks
      where job_id = ${held.id} and kind = 'chunk' and state = 'done'`;
      return row.done === 2;
    },
    120_000,
  );
  return held;
};

const deferred: HoldJob = async (tag) => {
  const waiting = `greylisted-${tag}@plain.test`;
  const inputs = [
    `exists-${tag}@plain.test`,
    waiting,
    `missing-${tag}@plain.test`,
    `exists-${tag}@plain.test`,
  ];
  const rows = inputs.map((input, i) => ({
    input,
    duplicateOf: i === 3 ? 1 : null,
    verdict: input.startsWith("exists") ? ("valid" as const) : ("invalid" as const),
    columns: [],
  }));
  const { id } = await submitted(scenario.api, scenario.team.liveKey, inputs);
  await work();
  return { id, rows };
};

const finalizing: HoldJob = async (tag) => {
  release = obstruct(scenario, ({ path }) => path.includes("/results-"));
  const held = await queued(tag);
  await work();
  return held;
};

const STATES: Record<string, HoldJob> = { queued, analyzing, processing, deferred, finalizing };

async function tellsOf(id: string): Promise<string[]> {
  const events = await scenario.deployment.sql<{ type: string }[]>`
    select type from events where data->>'id' = ${id} order by created_at`;
  return events.map(({ type }) => type);
}

/** The results have exactly the rows that were counted, each as the world says. @returns their charge */
async function assertCounted(job: BulkJob, rows: readonly ExpectedRow[]): Promise<number> {
  const lines = await resultLines(scenario.api, scenario.team.liveKey, job.id);
  assert.equal(lines.length, job.rows.processed);
  const counts = { valid: 0, invalid: 0, risky: 0, unknown: 0 };
  let charge = 0;
  let before = 0;
  for (const { row, input, verdict, duplicate_of: duplicateOf } of lines) {
    assert.ok(row > before);
    before = row;
    const expected = rows[row - 1];
    assert.deepEqual(
      [input, verdict, duplicateOf],
      [expected?.input, expected?.verdict, expected?.duplicateOf],
    );
    counts[verdict] += 1;
    if (duplicateOf === null && input.includes("@") && verdict !== "unknown") charge += 1;
  }
  assert.deepEqual(counts, job.verdicts);
  return charge;
}

describe("a job is cancelled", () => {
  for (const [state, hold] of Object.entries(STATES))
    it(`${state}: what is answered is charged and can be read`, async () => {
      const { api, team, deployment } = scenario;
      const used = await usedOf(scenario);
      const { id, rows } = await hold(`c${state}`);
      const stood = await stands(scenario, id, `the job is ${state}`, ({ status }) => status === state);
      const { status, body } = await api.send<BulkJob>("POST", `/v1/bulk-jobs/${id}/cancel`, {
        key: team.liveKey,
      });
      assert.deepEqual([status, body.status], [200, "cancelled"]);
      assert.ok(body.rows.processed >= stood.rows.processed);
      const charge = body.rows.processed === 0 ? 0 : await assertCounted(body, rows);
      assert.deepEqual(await ledgerState(deployment, team.id), { used: used + charge, held: 0, leased: 0 });
      // A worker that still runs changes nothing any more.
      release();
      if (worker === null) await work();
      await streamEmpties(scenario);
      assert.deepEqual(await jobOf(api, team.liveKey, id), body);
      assert.deepEqual(await ledgerState(deployment, team.id), { used: used + charge, held: 0, leased: 0 });
      assert.deepEqual(await tellsOf(id), ["bulk.cancelled"]);
    });
});

describe("a job is deleted", () => {
  for (const [state, hold] of Object.entries(STATES))
    it(`${state}: its objects go, and nothing of it is held`, async () => {
      const { api, team, deployment } = scenario;
      const { id } = await hold(`d${state}`);
      await stands(scenario, id, `the job is ${state}`, ({ status }) => status === state);
      const { status } = await api.send("DELETE", `/v1/bulk-jobs/${id}`, { key: team.liveKey });
      assert.equal(status, 204);
      assert.equal((await api.send("GET", `/v1/bulk-jobs/${id}`, { key: team.liveKey })).status, 404);
      assert.deepEqual((await ledgerState(deployment, team.id)).held, 0);
      release();
      if (worker !== null) await retired(worker);
      worker = null;
      // As if the rest that workers are given were over.
      await deployment.sql`update jobs set removed_at = now() - interval '1 day' where id = ${id}`;
      await until(
        "its row is gone",
        async () => (await deployment.sql`select from jobs where id = ${id}`).length === 0,
        60_000,
      );
      const left = await listBelow(store, `teams/${team.id}/jobs/${id}/`);
      assert.deepEqual(left, { objects: [], parts: [] });
      assert.deepEqual(await tellsOf(id), ["bulk.cancelled"]);
    });
});
