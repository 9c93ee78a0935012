import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { ended, jobOf, ledgerState, resultLines, submit, submitted } from "../../support/bulk.ts";
import { isShardOf } from "../../support/bulk-scenario.ts";
import { waitForPostgres } from "../../support/limits.ts";
import { createObjectGate, type ObjectGate } from "../../support/object-gate.ts";
import { startOwnRedis } from "../../support/own-services.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** The charges of jobs, and their bounds: two APIs, a worker, and a Redis that can be cut. */
const closing = createClosing();
let deployment: TestDeployment;
let gate: TcpGate;
/** Before the worker's object storage. */
let storage: ObjectGate;
let one: TestApi;
let two: TestApi;

before(async () => {
  waitForPostgres(closing);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const redis = await startOwnRedis();
  closing.after(() => redis.close());
  gate = await createTcpGate(redis.url);
  closing.after(() => gate.close());
  storage = await createObjectGate(deployment.settings.S3_ENDPOINT ?? "");
  closing.after(() => storage.close());
  const settings = { REDIS_URL: throughGate(redis.url, gate) };
  [one, two] = await Promise.all([
    deployment.startApi(settings),
    deployment.startApi(settings),
    deployment.startRelay(settings),
    // Deferred rows are retried once, soon.
    deployment.startBulk({
      ...{ ...settings, DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "1" },
      S3_ENDPOINT: storage.endpoint,
    }),
  ]);
});
after(closing.close);

let lists = 0;
const list = (rows: number, name = "exists") => {
  lists += 1;
  return Array.from({ length: rows }, (_, i) => `${name}-q${lists}x${i}@plain.test`);
};

describe("tiers", () => {
  it("free has no bulk: 402; the rest has what the table says: 413", async () => {
    const free = await deployment.team("free");
    const starter = await deployment.team("starter", { dailyQuota: 5, bulkBytes: 200 });
    const answers = [
      await submit(one, free.liveKey, ["a@plain.test"]),
      await submit(one, free.testKey, ["a@plain.test"]),
      await submit(one, starter.liveKey, list(6)),
      await submit(one, starter.liveKey, [`${"a".repeat(200)}@plain.test`]),
      await submit(
        one,
        starter.liveKey,
        Array.from({ length: 10_001 }, () => ""),
      ),
    ];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [402, "unavailable_in_tier"],
        [402, "unavailable_in_tier"],
        [413, "bulk_too_large"],
        [413, "bulk_too_large"],
        [413, "inline_too_large"],
      ],
    );
    assert.deepEqual(await ledgerState(deployment, starter.id), { used: 0, held: 0, leased: 0 });
  });
});

describe("quota", () => {
  for (const [weather, begin] of [
    ["as usual", () => undefined],
    ["with Redis cut", () => gate.shut()],
  ] as const) {
    it(`of many jobs that race for the last units, as many get them as there are: ${weather}`, async () => {
      const team = await deployment.team("enterprise", { dailyQuota: 25 });
      await until("both serve", async () =>
        (await Promise.all([one, two].map((api) => api.get("/readyz")))).every(
          ({ status }) => status === 200,
        ),
      );
      begin();
      try {
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, i) => submit(i % 2 === 0 ? one : two, team.liveKey, list(10))),
        );
        const taken = answers.filter(({ status }) => status === 202);
        const refused = answers.filter(
          ({ status, body }) => status === 429 && body.code === "quota_exceeded",
        );
        assert.deepEqual([taken.length, refused.length], [2, 10]);
        for (const { headers } of refused) assert.ok(Number(headers.get("retry-after")) > 0);
        const { used, held } = await ledgerState(deployment, team.id);
        assert.equal(used + held, 20);
        gate.open();
        for (const { body } of taken)
          assert.equal((await ended(one, team.liveKey, body.id)).status, "completed");
        assert.deepEqual(await ledgerState(deployment, team.id), { used: 20, held: 0, leased: 0 });
      } finally {
        gate.open();
      }
    });
  }

  it("is shared with single requests to the unit, idle leases of which a job waits for", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 20 });
    assert.equal((await one.verify(team.liveKey, "exists@plain.test")).status, 200);
    const job = await submitted(one, team.liveKey, list(19));
    assert.equal((await two.verify(team.liveKey, "exists@plain.test")).body.code, "quota_exceeded");
    await ended(one, team.liveKey, job.id);
    assert.equal((await submit(one, team.liveKey, list(1))).body.code, "quota_exceeded");
  });

  it("is given back for what ends unknown by failure, repeats and what is no address", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 10 });
    const [address = ""] = list(1);
    const emails = [
      address,
      address,
      "tempfail@plain.test",
      "no address",
      "exists@dead.test",
      "missing@plain.test",
    ];
    const job = await submitted(one, team.liveKey, emails);
    const done = await ended(one, team.liveKey, job.id);
    assert.deepEqual(done.rows, {
      total: 6,
      processed: 6,
      deferred: 0,
      duplicates: 1,
      malformed: 1,
      empty: 0,
    });
    assert.deepEqual(done.verdicts, { valid: 2, invalid: 2, risky: 0, unknown: 2 });
    assert.deepEqual(await ledgerState(deployment, team.id), { used: 2, held: 0, leased: 0 });
    const { body } = await one.send<Record<string, unknown>>("GET", "/v1/usage", { key: team.liveKey });
    assert.deepEqual([body.used, body.bulk, body.single], [2, 6, 0]);
  });

  it("is charged for what a cancelled job has answered, and no more", async () => {
    const { rowsPerChunk } = LIMITS.bulk;
    const team = await deployment.team("enterprise", { dailyQuota: 2_000 });
    // Answered at once, but their results cannot be stored. Rows at a mail server that is held could run into a timeout before
    // the first chunk is answered.
    const stuck = Array.from({ length: 10 }, (_, i) => `exists-held${i}@nowhere.test`);
    storage.setFaults((request) => (isShardOf(1)(request) ? { status: 503 } : null));
    try {
      const job = await submitted(one, team.liveKey, [...list(rowsPerChunk), ...stuck]);
      await until(
        "the first chunk is answered",
        async () => (await jobOf(one, team.liveKey, job.id)).rows.processed === rowsPerChunk,
        120_000,
      );
      assert.deepEqual((await ledgerState(deployment, team.id)).held, rowsPerChunk + 10);
      const cancelled = await two.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key: team.liveKey });
      assert.deepEqual(
        [cancelled.status, cancelled.body.status, cancelled.body.progress],
        [200, "cancelled", 0.99],
      );
      assert.deepEqual(await ledgerState(deployment, team.id), { used: rowsPerChunk, held: 0, leased: 0 });
      assert.equal((await resultLines(one, team.liveKey, job.id)).length, rowsPerChunk);
      const again = await one.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, { key: team.liveKey });
      assert.deepEqual([again.status, again.body.code], [409, "job_finished"]);
    } finally {
      storage.setFaults(() => null);
    }
  });

  it("is not charged for rows about which a cancelled job's mail server was being asked", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 20 });
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    try {
      const rows = Array.from({ length: 10 }, (_, i) => `exists-asked${i}@lockstep.test`);
      const job = await submitted(one, team.liveKey, rows);
      await until("a row is asked about", () => host.account.held > 0);
      assert.deepEqual(await ledgerState(deployment, team.id), { used: 0, held: 10, leased: 0 });
      const { status, body } = await two.send("POST", `/v1/bulk-jobs/${job.id}/cancel`, {
        key: team.liveKey,
      });
      assert.deepEqual([status, body.status, body.progress], [200, "cancelled", 0]);
      assert.deepEqual(await ledgerState(deployment, team.id), { used: 0, held: 0, leased: 0 });
    } finally {
      host.release();
    }
  });
});

describe("the ends of jobs", () => {
  it("come once each, with simultaneous cancel, removal and completion, and are charged to the row", async () => {
    const team = await deployment.team("enterprise");
    const jobs = await Promise.all(Array.from({ length: 10 }, () => submitted(one, team.liveKey, list(30))));
    const ends = jobs.flatMap(({ id }, i) => [
      one.send("POST", `/v1/bulk-jobs/${id}/cancel`, { key: team.session }),
      two.send("POST", `/v1/bulk-jobs/${id}/cancel`, { key: team.session }),
      ...(i % 2 === 0 ? [two.send("DELETE", `/v1/bulk-jobs/${id}`, { key: team.session })] : []),
    ]);
    const statuses = (await Promise.all(ends)).map(({ status }) => status);
    assert.deepEqual(
      statuses.filter((status) => ![200, 204, 404, 409].includes(status)),
      [],
    );
    const rows = await deployment.sql<{ id: string; charged: number; answered: number; events: number }[]>`
      select j.id, j.charged, j.valid + j.invalid + j.risky + j.unknown as answered,
        (select count(*)::int from events e where e.data->>'id' = j.id and e.type like 'bulk.%') as events
      from jobs j where j.team_id = ${team.id} and j.completed_at is not null`;
    assert.deepEqual([rows.length, new Set(rows.map(({ events }) => events))], [10, new Set([1])]);
    for (const { charged, answered } of rows) assert.equal(charged, answered);
    const used = rows.reduce((sum, { charged }) => sum + charged, 0);
    assert.deepEqual(await ledgerState(deployment, team.id), { used, held: 0, leased: 0 });
  });
});

describe("a team", () => {
  it("may be deleted with a job under way", async () => {
    const team = await deployment.team("enterprise");
    const job = await submitted(one, team.liveKey, list(300));
    const { status } = await one.send("DELETE", "/v1/team", { key: team.session });
    assert.equal(status, 204);
    const rows = await deployment.sql`select from jobs where id = ${job.id}`;
    assert.equal(rows.length, 0);
    // Workers go on with others' jobs.
    const other = await deployment.team("enterprise");
    const next = await submitted(one, other.liveKey, list(3));
    assert.equal((await ended(one, other.liveKey, next.id)).verdicts.valid, 3);
  });

  it("has so many jobs under way and no more", async () => {
    const team = await deployment.team("enterprise");
    await deployment.sql`
      insert into jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing,
        with_evidence, metadata)
      select 'job_fake' || i, ${team.id}, false, 'queued', '{"type":"inline"}', 'k', '{}', 1, 1, true, false, '{}'
      from generate_series(1, 99) as i`;
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => submit(one, team.testKey, ["valid@plain.test"])),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409, 409]);
  });
});
