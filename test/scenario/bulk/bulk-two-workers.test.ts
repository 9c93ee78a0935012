import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { jobOf } from "../../support/bulk.ts";
import {
  type BulkScenario,
  obstruct,
  openBulkScenario,
  retired,
  streamEmpties,
  submitList,
  usedOf,
} from "../../support/bulk-scenario.ts";
import { assertWhole, type MixedList, mixedList } from "../../support/mixed-list.ts";
import type { MainProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

/** A worker that is paused for longer than its lease, and resumes a task that another worker has by then. */
let scenario: BulkScenario;

before(async () => {
  scenario = await openBulkScenario();
});
after(() => scenario.close());

interface Begun {
  id: string;
  list: MixedList;
  used: number;
  frozen: MainProcess;
  release(): void;
}

/** A job whose chunks are all in the hands of a worker that is stopped short of writing their shards. */
async function begin(tag: string): Promise<Begun> {
  const used = await usedOf(scenario);
  const list = mixedList({ tag, rows: 2_500 });
  const tried = new Set<string>();
  const release = obstruct(scenario, ({ method, path }) => {
    const chunk = /\/shards\/(\d+)-/.exec(path)?.[1];
    if (method !== "PUT" || chunk === undefined) return false;
    tried.add(chunk);
    return true;
  });
  const frozen = await scenario.startWorker();
  const id = await submitList(scenario, list);
  await until("it would write all shards", () => tried.size === 3, 120_000);
  frozen.kill("SIGSTOP");
  return { id, list, used, frozen, release };
}

async function begunTwice(id: string): Promise<boolean> {
  const [row] = await scenario.deployment.sql<[{ count: number }]>`
    select count(*)::int as count from job_tasks where job_id = ${id} and kind = 'chunk' and deliveries >= 1`;
  const consumers = (await scenario.redis.client.xpending("rcpt:{bulk}:tasks", "workers", "-", "+", 100)) as [
    string,
    string,
    number,
    number,
  ][];
  return row.count === 3 && consumers.length === 3 && consumers.every(([, , , times]) => times > 1);
}

describe("a worker that lost its leases", () => {
  it("goes on when the job is over: nothing changes any more", async () => {
    const { id, list, used, frozen, release } = await begin("late");
    const second = await scenario.startWorker();
    release();
    await assertWhole(scenario, id, list, used);
    const over = await jobOf(scenario.api, scenario.team.liveKey, id);
    frozen.kill("SIGCONT");
    await retired(frozen);
    assert.deepEqual(await jobOf(scenario.api, scenario.team.liveKey, id), over);
    await assertWhole(scenario, id, list, used);
    await streamEmpties(scenario);
    await retired(second);
  });

  it("goes on beside the one that has them: one shard of each counts", async () => {
    const { id, list, used, frozen, release } = await begin("both");
    const second = await scenario.startWorker();
    await until("the other has taken them over", () => begunTwice(id), 120_000);
    frozen.kill("SIGCONT");
    release();
    await assertWhole(scenario, id, list, used);
    await streamEmpties(scenario);
    await Promise.all([retired(frozen), retired(second)]);
    assert.equal(await usedOf(scenario), used + list.charge);
  });
});
