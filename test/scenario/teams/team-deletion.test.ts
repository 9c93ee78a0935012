import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStore, type ObjectStore } from "../../../src/stores/objects/objects.ts";
import { testObjects } from "../../support/embedded.ts";
import { changeLimits, waitForPostgres } from "../../support/limits.ts";
import { answersBesideLimit, type Sample, startLoad, tally } from "../../support/load.ts";
import {
  type Answer,
  createDeployment,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** The deletion of a team: who may do it, what stops at once, and that no data of it is left. */
const closing = createClosing();
let deployment: TestDeployment;
let one: TestApi;
let objects: ObjectStore;
let storageGate: TcpGate;
let storage: Record<string, string>;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  one = await deployment.startApi();
  const { endpoint, region, bucket, ...credentials } = await testObjects();
  objects = createObjectStore(
    { endpoint, publicEndpoint: endpoint, region, bucket, credentials },
    systemClock,
  );
  closing.after(() => objects.stop());
  storageGate = await createTcpGate(endpoint);
  closing.after(() => storageGate.close());
  storage = {
    S3_ENDPOINT: throughGate(endpoint, storageGate),
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
});
after(closing.close);

async function end(key: string, api = one): Promise<string> {
  const { status, body } = await api.send<{ code: string } | null>("DELETE", "/v1/team", { key });
  return body === null ? String(status) : `${status} ${body.code}`;
}

/** Two processes that wait for Postgres as long as it takes: a 503 of theirs is a result. */
async function patientApis(t: TestContext): Promise<[TestApi, TestApi]> {
  waitForPostgres(t);
  const start = () => deployment.startApi({ TRUSTED_PROXIES: "127.0.0.1" });
  const apis = await Promise.all([start(), start()]);
  t.after(() => Promise.all(apis.map((api) => api.stop())).then(() => undefined));
  return apis;
}

/** Tables in which rows name the team, and how many. */
async function tracesOf(teamId: string): Promise<Record<string, number>> {
  const tables = await deployment.sql<{ table_name: string }[]>`
    select table_name from information_schema.columns
    where table_schema = 'public' and column_name = 'team_id' order by table_name`;
  const traces: Record<string, number> = {};
  for (const { table_name: table } of tables) {
    const rows = await deployment.sql`select from ${deployment.sql(table)} where team_id = ${teamId}`;
    if (rows.length > 0) traces[table] = rows.length;
  }
  return traces;
}

/** The tables that keep rows of the team, without its leases, which it returns when they are idle. */
async function keptOf(teamId: string): Promise<string[]> {
  return Object.keys(await tracesOf(teamId)).filter((table) => table !== "quota_leases");
}

/**
 * Deletes the team, but the statement cannot go on, with the team, its days and its leases locked, until `meanwhile` has ended.
 */
async function endHeldUp(team: Team, api: TestApi, meanwhile: () => Promise<void>) {
  const { sql } = deployment;
  await sql`insert into s3_grants (team_id, bucket, prefix) values (${team.id}, 'customers', 'a/')`;
  return sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from s3_grants where team_id = ${team.id} for update`;
    const removal = end(team.session, api);
    await until("the deletion waits", async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'delete from teams%'`;
      return waiting.length > 0;
    });
    await meanwhile();
    return { removal };
  });
}

async function leasesOf({ id }: Team): Promise<string[]> {
  const leases = await deployment.sql<{ id: string }[]>`select id from quota_leases where team_id = ${id}`;
  return leases.map((lease) => lease.id);
}

describe("deleting a team", () => {
  it("ends the credential that asked for it", async () => {
    const team = await deployment.team("free");
    assert.equal(await end(team.session), "204");
    assert.equal(await end(team.session), "401 unauthorized");
  });

  it("takes all it has in the database with it, and leaves its members their accounts", async () => {
    const [team, other] = [await deployment.team("enterprise"), await deployment.team("enterprise")];
    for (const { session, liveKey } of [team, other]) {
      assert.equal((await one.verify(liveKey, "exists@plain.test")).status, 200);
      // Reading the usage makes the process write its counts.
      assert.equal((await one.get("/v1/usage", liveKey)).status, 200);
      const sent = { key: session, body: { domain: "blocked.example" } };
      assert.equal((await one.send("POST", "/v1/blocklist", sent)).status, 201);
    }
    const { sql } = deployment;
    await sql`insert into s3_grants (team_id, bucket, prefix) values (${team.id}, 'customers', 'a/')`;
    await sql`
      insert into events (id, team_id, type, livemode, data) values ('evt_gone', ${team.id}, 'ping', true, '{}')`;
    const before = await tracesOf(team.id);
    for (const table of [
      "api_keys",
      "blocklist",
      "events",
      "memberships",
      "quota_days",
      "s3_grants",
      "sessions",
      "usage_days",
    ])
      assert.ok((before[table] ?? 0) > 0, table);
    const others = await keptOf(other.id);
    assert.equal(await end(team.session), "204");
    assert.deepEqual(await tracesOf(team.id), { team_removals: 1 });
    assert.equal((await sql`select from users where id = ${team.ownerId}`).length, 1);
    assert.deepEqual(await keptOf(other.id), others);
    assert.equal((await one.verify(other.liveKey, "exists@plain.test")).status, 200);
  });

  it("that takes its time keeps no other team from its figures", async (t) => {
    // However slow the machine is: leased units stay in hand, and figures have all that was counted.
    changeLimits(t, {
      quota: { idleReturnMs: 60_000 },
      usage: { flushWaitMs: 30_000, readTimeoutMs: 30_000 },
    });
    const [api] = await patientApis(t);
    const [doomed, other] = [await deployment.team("enterprise"), await deployment.team("enterprise")];
    const ask = async ({ liveKey }: Team) => (await api.verify(liveKey, "exists@plain.test")).status;
    // It leases more than one unit.
    assert.equal(await ask(doomed), 200);
    await deployment.sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx`select from teams where id = ${doomed.id} for update`;
      assert.deepEqual([await ask(doomed), await ask(other)], [200, 200]);
      const { status, body } = await api.get("/v1/usage", other.liveKey);
      assert.deepEqual([status, body.used, body.single], [200, 1, 1]);
      assert.equal((await api.get("/v1/usage/history", other.liveKey)).status, 200);
      assert.equal((await api.get("/v1/usage", doomed.liveKey)).status, 200);
    });
    // It was not deleted after all: nothing is lost.
    assert.equal((await api.get("/v1/usage", doomed.liveKey)).body.single, 2);
  });

  it("stops its credentials under load, within a second, and disturbs no other team", async (t) => {
    changeLimits(t, { team: { deletionTimeoutMs: 60_000 } });
    const apis = await patientApis(t);
    const [team, other] = [await deployment.team("enterprise"), await deployment.team("enterprise")];
    let fresh = 0;
    // New addresses lease quota, from the very rows that go.
    const ask = (api: TestApi, key: string, from: string) => () =>
      api.send<Answer["body"]>("GET", `/v1/verify?email=exists-d${fresh++}%40plain.test`, {
        key,
        headers: { "X-Forwarded-For": from },
      });
    const loads = apis.flatMap((api) =>
      [team, other].map(({ liveKey }, i) => startLoad(4, ask(api, liveKey, `192.0.2.${i}`))),
    );
    try {
      await until("all are served", () => loads.every(({ samples }) => samples.length >= 20));
      const { removal } = await endHeldUp(team, apis[1], async () => {
        const seen = loads.map(({ samples }) => samples.length);
        const leases = await leasesOf(other);
        await until(
          "the other team is answered, and leases units, before the deletion goes on",
          async () =>
            loads.every(({ samples }, i) => i % 2 === 0 || samples.length >= (seen[i] ?? 0) + 20) &&
            (await leasesOf(other)).some((id) => !leases.includes(id)),
          120_000,
        );
      });
      assert.equal(await removal, "204");
      const lateMs = performance.now() + LIMITS.keys.confirmMs;
      const isLate = ({ beganMs }: Sample) => beganMs > lateMs;
      await until("requests began late enough", () =>
        loads.every(({ samples }) => samples.filter(isLate).length >= 20),
      );
      for (const [i, { samples }] of loads.entries()) {
        const isTeams = i % 2 === 0;
        const late = samples.filter(isLate);
        if (isTeams) assert.ok(answersBesideLimit(late).every((how) => how === "401 unauthorized"));
        else assert.deepEqual(Object.keys(tally(late)), ["200"]);
        const all = Object.keys(tally(samples));
        assert.ok(!all.some((name) => name.startsWith("5")), JSON.stringify(tally(samples)));
      }
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
  });

  it("answers 503 while the database is cut off, and has deleted nothing", async () => {
    const gate = await createTcpGate(deployment.settings.DATABASE_URL);
    const api = await deployment.startApi({
      DATABASE_URL: throughGate(deployment.settings.DATABASE_URL, gate),
    });
    try {
      const team = await deployment.team("free");
      assert.equal((await api.send("GET", "/v1/team", { key: team.session })).status, 200);
      gate.shut();
      assert.equal(await end(team.session, api), "503 unavailable");
      gate.open();
      await until("it is back", async () => (await api.get("/readyz")).status === 200);
      assert.equal((await one.send("GET", "/v1/team", { key: team.session })).status, 200);
      assert.equal(await end(team.session, api), "204");
    } finally {
      await api.stop();
      await gate.close();
    }
  });

  it("many times at once, by two processes, does it once", async (t) => {
    const apis = await patientApis(t);
    const team = await deployment.team("free");
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => end(team.session, i % 2 === 0 ? apis[0] : apis[1])),
    );
    assert.equal(answers.filter((answer) => answer === "204").length, 1);
    assert.deepEqual(new Set(answers), new Set(["204", "401 unauthorized"]));
  });
});

async function put(key: string): Promise<void> {
  await objects.client.send(new PutObjectCommand({ Bucket: objects.bucket, Key: key, Body: "x" }));
}

async function keysBelow(prefix: string): Promise<number> {
  const { KeyCount } = await objects.client.send(
    new ListObjectsV2Command({ Bucket: objects.bucket, Prefix: prefix }),
  );
  return KeyCount ?? 0;
}

const removalOf = async ({ id }: Team) =>
  (
    await deployment.sql<{ sweeps_done: number; failures: number }[]>`
    select sweeps_done, failures from team_removals where team_id = ${id}`
  )[0] ?? null;

describe("the objects of a deleted team", () => {
  it("are deleted by the relays, and what came later with a second sweep; others' stay", async () => {
    const [team, other] = [await deployment.team("free"), await deployment.team("free")];
    const names = ["jobs/a/source", "jobs/a/shards/00000001-1", "uploads/ü & <odd>+%2F.csv"];
    for (const { id } of [team, other]) for (const name of names) await put(`teams/${id}/${name}`);
    // The id of no team, but it starts with that of one.
    await put(`teams/${team.id}x/jobs/a/source`);
    assert.equal(await end(team.session), "204");
    const relays = await Promise.all([deployment.startRelay(storage), deployment.startRelay(storage)]);
    try {
      await until("the first sweep is done", async () => (await removalOf(team))?.sweeps_done === 1);
      assert.equal(await keysBelow(`teams/${team.id}/`), 0);
      await put(`teams/${team.id}/jobs/a/results-1.csv`);
      // The second sweep is due a day later.
      const [due] = await deployment.sql<[{ hours: number }]>`
        select extract(epoch from due_at - now())::float8 / 3600 as hours from team_removals where team_id = ${team.id}`;
      assert.ok(due.hours > 23 && due.hours <= 24, `${due.hours}`);
      await deployment.sql`update team_removals set due_at = now() where team_id = ${team.id}`;
      await until("the second sweep is done", async () => (await removalOf(team)) === null);
      assert.equal(await keysBelow(`teams/${team.id}/`), 0);
      assert.equal(await keysBelow(`teams/${other.id}/`), names.length);
      assert.equal(await keysBelow(`teams/${team.id}x/`), 1);
    } finally {
      await Promise.all(relays.map((relay) => relay.stop()));
    }
  });

  it("are deleted once storage answers again, however long it did not", async () => {
    const team = await deployment.team("free");
    await put(`teams/${team.id}/jobs/a/source`);
    assert.equal(await end(team.session), "204");
    storageGate.shut();
    const relay = await deployment.startRelay(storage);
    try {
      await until("it was tried in vain", async () => ((await removalOf(team))?.failures ?? 0) > 0);
      assert.equal(await keysBelow(`teams/${team.id}/`), 1);
      storageGate.open();
      await deployment.sql`update team_removals set due_at = now() where team_id = ${team.id}`;
      await until("the first sweep is done", async () => (await removalOf(team))?.sweeps_done === 1);
      assert.deepEqual([await keysBelow(`teams/${team.id}/`), (await removalOf(team))?.failures], [0, 0]);
    } finally {
      storageGate.open();
      await relay.stop();
    }
  });

  it("are none where there is no object storage: a removal ends all the same", async () => {
    const team = await deployment.team("free");
    assert.equal(await end(team.session), "204");
    const relay = await deployment.startRelay();
    try {
      await until("the first sweep is done", async () => (await removalOf(team))?.sweeps_done === 1);
      await deployment.sql`update team_removals set due_at = now() where team_id = ${team.id}`;
      await until("the removal has ended", async () => (await removalOf(team)) === null);
    } finally {
      await relay.stop();
    }
  });
});
