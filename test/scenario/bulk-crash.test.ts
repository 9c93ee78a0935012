import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, jobOf, ledgerState, resultLines, submitted } from "../support/bulk.ts";
import { testObjects } from "../support/embedded.ts";
import { type OwnRedis, startOwnRedis } from "../support/own-services.ts";
import { createProcesses } from "../support/processes.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../support/service.ts";
import { createClosing } from "../support/store.ts";
import { createTcpGate, throughGate } from "../support/tcp-gate.ts";
import { awayFromMidnight, until } from "../support/until.ts";

/** Workers that are killed and a Redis that is emptied in the middle of a job: nothing is lost, nothing charged twice. */
const closing = createClosing();
const processes = createProcesses();
const ROWS = 1_000;
let deployment: TestDeployment;
let redis: OwnRedis;
let api: TestApi;
let team: Team;

before(async () => {
  await awayFromMidnight();
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
  redis = await startOwnRedis();
  closing.after(() => redis.close());
  const settings = { REDIS_URL: redis.url };
  [api] = await Promise.all([deployment.startApi(settings), deployment.startRelay(settings)]);
  team = await deployment.team("enterprise");
});
after(closing.close);

const startWorker = () =>
  processes.start({ ...deployment.settings, REDIS_URL: redis.url, ROLE: "bulk", CHECK_THREADS: "1" });

let jobs = 0;
/** Every third does not exist; the last chunk, or each, has rows at a server that is held. */
function list(stuckFrom = ROWS - 250): { emails: string[]; verdicts: string[] } {
  jobs += 1;
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const domain = i >= stuckFrom && i % 50 === 0 ? "lockstep.test" : "plain.test";
    return i % 3 === 0
      ? { email: `missing-c${jobs}x${i}@${domain}`, verdict: "invalid" }
      : { email: `exists-c${jobs}x${i}@${domain}`, verdict: "valid" };
  });
  return { emails: rows.map(({ email }) => email), verdicts: rows.map(({ verdict }) => verdict) };
}

/** The job has completed, every row is answered as the mail world says, in order, and charged once. */
async function assertWhole(id: string, { emails, verdicts }: ReturnType<typeof list>, usedBefore: number) {
  const done = await ended(api, team.liveKey, id);
  assert.deepEqual([done.status, done.rows.processed, done.progress], ["completed", ROWS, 1]);
  const lines = await resultLines(api, team.liveKey, id);
  assert.deepEqual(
    lines.map(({ input, verdict }) => [input, verdict]),
    emails.map((email, i) => [email, verdicts[i]]),
  );
  const invalid = verdicts.filter((verdict) => verdict === "invalid").length;
  assert.deepEqual(done.verdicts, { valid: ROWS - invalid, invalid, risky: 0, unknown: 0 });
  const { used, held } = await ledgerState(deployment, team.id);
  assert.deepEqual([used - usedBefore, held], [ROWS, 0]);
  await until("the stream is empty", async () => (await redis.client.xlen("rcpt:{bulk}:tasks")) === 0);
  const events =
    await deployment.sql`select from events where type = 'bulk.completed' and data->>'id' = ${id}`;
  assert.equal(events.length, 1);
}

describe("in the middle of a job", () => {
  it("a worker is killed: another finishes what it had", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const doomed = startWorker();
    await doomed.ready;
    const rows = list();
    const job = await submitted(api, team.liveKey, rows.emails);
    try {
      await until(
        "some rows are answered",
        async () => (await jobOf(api, team.liveKey, job.id)).rows.processed > 0,
      );
      doomed.kill("SIGKILL");
      assert.equal((await doomed.exited).signal, "SIGKILL");
      assert.equal((await jobOf(api, team.liveKey, job.id)).status, "processing");
    } finally {
      host.release();
    }
    const heir = startWorker();
    await heir.ready;
    await assertWhole(job.id, rows, used);
    heir.kill("SIGTERM");
    assert.deepEqual(await heir.exited, { code: 0, signal: null });
  });

  it("a worker is told to stop: it hands back what it cannot finish, and ends with code 0", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const leaving = processes.start({
      ...deployment.settings,
      REDIS_URL: redis.url,
      ROLE: "bulk",
      CHECK_THREADS: "1",
      // Half of it is waited out, the rest is there to hand back: more than enough on a loaded machine.
      SHUTDOWN_GRACE_MS: "10000",
    });
    await leaving.ready;
    const rows = list(0);
    const job = await submitted(api, team.liveKey, rows.emails);
    try {
      await until("all its places are taken", async () => {
        const [row] = await deployment.sql`
          select count(*)::int as begun from job_tasks where job_id = ${job.id} and deliveries = 1`;
        return row?.begun === 4;
      });
      leaving.kill("SIGTERM");
      assert.deepEqual(await leaving.exited, { code: 0, signal: null });
    } finally {
      host.release();
    }
    const tasks = await deployment.sql`select state, deliveries from job_tasks where job_id = ${job.id}`;
    assert.deepEqual(
      new Set(tasks.map(({ state, deliveries }) => `${state} ${deliveries}`)),
      new Set(["emitted 0"]),
    );
    const bulk = await deployment.startBulk({ REDIS_URL: redis.url });
    await assertWhole(job.id, rows, used);
    await bulk.stop();
  });

  it("Redis is emptied, with two workers at it: what is lost is emitted again", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const rows = list();
    const job = await submitted(api, team.liveKey, rows.emails);
    await until(
      "its tasks are in the stream",
      async () => (await redis.client.xlen("rcpt:{bulk}:tasks")) === 4,
    );
    await redis.flushAll();
    const settings = { REDIS_URL: redis.url };
    const workers = await Promise.all([deployment.startBulk(settings), deployment.startBulk(settings)]);
    try {
      await until(
        "some rows are answered",
        async () => (await jobOf(api, team.liveKey, job.id)).rows.processed > 0,
      );
      await redis.flushAll();
    } finally {
      host.release();
    }
    await assertWhole(job.id, rows, used);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});

describe("Postgres that goes away", () => {
  it("is waited for: the job goes on where it was, and no delivery counts", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const { DATABASE_URL } = deployment.settings;
    const gate = await createTcpGate(DATABASE_URL);
    const host = deployment.world.host("mx.lockstep.test");
    deployment.world.resetCounters();
    host.hold("rcpt");
    const bulk = await deployment.startBulk({
      REDIS_URL: redis.url,
      DATABASE_URL: throughGate(DATABASE_URL, gate),
    });
    try {
      const rows = list();
      const job = await submitted(api, team.liveKey, rows.emails);
      await until(
        "some rows are answered",
        async () => (await jobOf(api, team.liveKey, job.id)).rows.processed > 0,
      );
      gate.shut();
      host.release();
      await deployment.world.until(() => host.account.accepted >= 3);
      gate.open();
      await assertWhole(job.id, rows, used);
    } finally {
      host.release();
      await bulk.stop();
      await gate.close();
    }
  });
});

describe("a task that brings its workers down", () => {
  it("is given up in the end: its rows are unknown and free, and the job completes", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const emails = Array.from({ length: 300 }, (_, i) => `exists-p${i}@plain.test`);
    const job = await submitted(api, team.liveKey, emails);
    // As if it had ended its process as often as it may.
    await deployment.sql`update job_tasks set deliveries = 15 where job_id = ${job.id} and number = 0`;
    const bulk = await deployment.startBulk({ REDIS_URL: redis.url });
    const done = await ended(api, team.liveKey, job.id);
    assert.deepEqual(
      [done.status, done.verdicts],
      ["completed", { valid: 50, invalid: 0, risky: 0, unknown: 250 }],
    );
    const lines = await resultLines(api, team.liveKey, job.id, "&verdict=unknown");
    assert.deepEqual([...new Set(lines.map(({ reason }) => reason))], ["internal_error"]);
    assert.equal((await ledgerState(deployment, team.id)).used - used, 50);
    assert.equal(await redis.client.xlen("rcpt:{bulk}:dead"), 1);
    await bulk.stop();
  });

  it("fails the job when its objects are gone: nothing is charged", async () => {
    const { used } = await ledgerState(deployment, team.id);
    const job = await submitted(api, team.liveKey, ["exists@plain.test"]);
    // A bucket where nothing is.
    const { bucket: S3_BUCKET } = await testObjects();
    const bulk = await deployment.startBulk({ REDIS_URL: redis.url, S3_BUCKET });
    const done = await ended(api, team.liveKey, job.id);
    assert.deepEqual([done.status, done.error?.code, done.results], ["failed", "objects_missing", null]);
    assert.deepEqual(await ledgerState(deployment, team.id), { used, held: 0, leased: 0 });
    const events =
      await deployment.sql`select from events where type = 'bulk.failed' and data->>'id' = ${job.id}`;
    assert.equal(events.length, 1);
    await bulk.stop();
  });
});
