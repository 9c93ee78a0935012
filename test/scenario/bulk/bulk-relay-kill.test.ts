import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { ended, ledgerState } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { killed, retired, TASKS, WHOLE } from "../../support/bulk-scenario.ts";
import { type OwnRedis, startOwnRedis } from "../../support/own-services.ts";
import { createProcesses, type Processes } from "../../support/processes.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** A relay that is killed when it has marked a task as emitted, and before the task is in its stream. */
const closing = createClosing();
let deployment: TestDeployment;
let redis: OwnRedis;
let gate: TcpGate;
let processes: Processes;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  redis = await startOwnRedis();
  closing.after(() => redis.close());
  gate = await createTcpGate(redis.url);
  closing.after(() => gate.close());
  processes = createProcesses();
  closing.after(() => processes.close());
  // Without Redis, where nothing listens, it leaves the emission to the relays.
  api = await deployment.startApi({ REDIS_URL: "redis://127.0.0.1:1" });
  team = await deployment.team("enterprise");
});
after(closing.close);

async function submitList(): Promise<string> {
  const upload_id = await uploaded(api, team.liveKey, "email\nexists-r1@plain.test\nmissing-r2@plain.test\n");
  const { status, body } = await submitAs(api, team.liveKey, { upload_id });
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

async function statesOf(jobId: string): Promise<string[]> {
  const rows = await deployment.sql<{ state: string }[]>`
    select state from job_tasks where job_id = ${jobId}`;
  return rows.map(({ state }) => state);
}

/** Connections of relays, and those of them that hold an advisory lock. */
async function relaySessions(): Promise<{ open: number; locking: number }> {
  const [row] = await deployment.sql<[{ open: number; locking: number }]>`
    select count(*)::int as open,
      count(*) filter (where pid in (select pid from pg_locks where locktype = 'advisory'))::int as locking
    from pg_stat_activity where datname = current_database() and application_name = 'rcpt-relay'`;
  return row;
}

/** Kills a relay whose addition to a stream does not get to Redis. False: it had taken the task back by then. */
async function killBeforeAdding(jobId: string): Promise<boolean> {
  gate.open();
  const adding = gate.stallAt("xadd");
  const relay = processes.start({
    ...deployment.settings,
    REDIS_URL: throughGate(redis.url, gate),
    ROLE: "relay",
  });
  await adding;
  const { locking } = await relaySessions();
  await killed(relay);
  await until("Postgres has missed the relay", async () => (await relaySessions()).open === 0);
  return locking === 0 && (await statesOf(jobId))[0] === "emitted";
}

it("no lock is held while Redis is silent, and another relay adds what the killed one had marked", async () => {
  const id = await submitList();
  await until("a relay is killed between marking and adding", () => killBeforeAdding(id), 120_000);
  for (const stream of [TASKS, WHOLE]) assert.equal(await redis.client.xlen(stream), 0, stream);

  await deployment.startRelay({ REDIS_URL: redis.url });
  await until("the task is in its stream", async () => (await redis.client.xlen(WHOLE)) === 1, 30_000);
  const worker = processes.start({
    ...deployment.settings,
    REDIS_URL: redis.url,
    ROLE: "bulk",
    CHECK_THREADS: "1",
  });
  const job = await ended(api, team.liveKey, id);
  assert.deepEqual([job.status, job.verdicts.valid, job.verdicts.invalid], ["completed", 1, 1]);
  assert.deepEqual(await ledgerState(deployment, team.id), { used: 2, held: 0, leased: 0 });
  await until("the streams are empty", async () => {
    const lengths = [await redis.client.xlen(TASKS), await redis.client.xlen(WHOLE)];
    return lengths.every((length) => length === 0);
  });
  await retired(worker);
});
