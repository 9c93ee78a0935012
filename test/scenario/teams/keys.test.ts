import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createAuthBus } from "../../../src/features/auth/auth-bus.ts";
import { type ChangePublisher, createChangePublisher } from "../../../src/features/auth/publish.ts";
import { insertApiKey } from "../../../src/features/identity/account-sql.ts";
import { hashSecret, newSecret, secretHint } from "../../../src/features/identity/api-key.ts";
import { newId } from "../../../src/platform/ids.ts";
import { type Sample, startLoad, tally } from "../../support/load.ts";
import { limitFields } from "../../support/rate-fields.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing, openRedis, silentLog } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/**
 * Authentication, and how soon a change takes effect: two processes, each change made as another process makes it, in a
 * transaction with its row of the change feed and an announcement on the bus.
 */
const closing = createClosing();
let deployment: TestDeployment;
let redisGate: TcpGate;
let postgresGate: TcpGate;
let apis: [TestApi, TestApi];
let publisher: ChangePublisher;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const { DATABASE_URL, REDIS_URL } = deployment.settings;
  redisGate = await createTcpGate(REDIS_URL);
  closing.after(() => redisGate.close());
  postgresGate = await createTcpGate(DATABASE_URL);
  closing.after(() => postgresGate.close());
  const settings = {
    REDIS_URL: throughGate(REDIS_URL, redisGate),
    DATABASE_URL: throughGate(DATABASE_URL, postgresGate),
    TRUSTED_PROXIES: "127.0.0.1",
  };
  apis = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  closing.after(() => Promise.all(apis.map((api) => api.stop())).then(() => undefined));
  const redis = await openRedis(closing, REDIS_URL);
  const bus = createAuthBus(redis, silentLog);
  publisher = createChangePublisher({
    sql: deployment.sql,
    bus,
    log: silentLog,
    invalidate: () => undefined,
  });
});
after(closing.close);

beforeEach(async () => {
  redisGate.open();
  postgresGate.open();
  for (const api of apis)
    await until("the process is ready", async () => (await api.get("/readyz")).body.status === "ready");
});

const ADDRESS = "exists@plain.test";

/** Faults of a dependency of both processes, before the change. */
const WEATHER: [string, () => void][] = [
  ["with Redis up", () => undefined],
  ["with Redis cut", () => redisGate.shut()],
  ["with Redis silent", () => redisGate.stall()],
];

function revoke(key: string): Promise<void> {
  const hash = hashSecret(key);
  return publisher.transact(async (tx) => {
    await tx`update api_keys set revoked_at = now() where hash = ${Buffer.from(hash, "hex")}`;
  });
}

function changeTeam(team: Team, statement: "tier" | "limits" | "delete"): Promise<void> {
  return publisher.transact(async (tx) => {
    if (statement === "tier") await tx`update teams set tier = 'free' where id = ${team.id}`;
    if (statement === "limits")
      await tx`update teams set limits = '{"dailyQuota": 777}' where id = ${team.id}`;
    if (statement === "delete") await tx`delete from teams where id = ${team.id}`;
  });
}

/** A key of the team with a role of its own; `ownerless` as when its user has left. */
async function addKey(team: Team, role: string, ownerless: boolean): Promise<string> {
  const secret = newSecret("live");
  const hash = Buffer.from(hashSecret(secret), "hex");
  const [owner] = await deployment.sql<[{ user_id: string }]>`
    select user_id from memberships where team_id = ${team.id}`;
  const names = { id: newId("key"), teamId: team.id, userId: owner.user_id, label: role };
  await insertApiKey(deployment.sql, { ...names, env: "live", role, hash, ...secretHint(secret) });
  if (ownerless) await deployment.sql`update api_keys set user_id = null where id = ${names.id}`;
  return secret;
}

/** Waits for the second within which a process must notice a change. */
function secondAfter(changedMs: number): Promise<true> {
  return until("a second has passed", () => performance.now() > changedMs + LIMITS.keys.confirmMs || null);
}

/** Number of loads. Each has its own client address, because an address that sends many refused keys is refused itself. */
let clients = 0;

/**
 * Makes a change while both processes serve requests of `key` from memory, until some were sent after the second that
 * the change may take. Returns the answers before then, and after.
 */
async function underLoad(key: string, change: () => Promise<void>, lateOnes = 20) {
  clients += 1;
  const headers = { "X-Forwarded-For": `192.0.2.${clients}` };
  const path = `/v1/verify?email=${encodeURIComponent(ADDRESS)}`;
  const loads = apis.map((api) => startLoad(4, () => api.send("GET", path, { key, headers })));
  const enough = (wanted: (sample: Sample) => boolean, count: number) => () =>
    loads.every(({ samples }) => samples.filter(wanted).length >= count);
  let endMs = Number.POSITIVE_INFINITY;
  const isLate = ({ beganMs }: Sample) => beganMs > endMs;
  try {
    await until(
      "both serve",
      enough(() => true, 20),
    );
    await change();
    endMs = performance.now() + LIMITS.keys.confirmMs;
    await until("requests began late enough", enough(isLate, lateOnes));
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  const samples = loads.flatMap((load) => load.samples);
  return {
    before: tally(samples.filter((sample) => !isLate(sample))),
    late: tally(samples.filter(isLate)),
  };
}

describe("a credential", () => {
  it("takes the scheme in any case", async () => {
    const { liveKey } = await deployment.team("enterprise");
    const headers = { Authorization: `bEARER  ${liveKey}` };
    const response = await fetch(`${apis[0].url}/v1/verify?email=${ADDRESS}`, { headers });
    await response.arrayBuffer();
    assert.equal(response.status, 200);
  });
});

describe("who is let in", () => {
  for (const role of ["member", "admin", "owner"]) {
    for (const ownerless of [false, true]) {
      it(`verifies with a key of the role ${role}${ownerless ? " whose user has left" : ""}`, async () => {
        const secret = await addKey(await deployment.team("enterprise"), role, ownerless);
        const { status, body } = await apis[0].verify(secret, ADDRESS);
        assert.deepEqual([status, body.verdict, body.livemode], [200, "valid", true]);
      });
    }
  }
});

const REFUSALS = ["401 unauthorized", "429 rate_limited"];

/** Served before the change, refused a second after it: first the key, before long also the address that sends so many of them. */
function assertRefused({ before: first, late }: Awaited<ReturnType<typeof underLoad>>): void {
  assert.deepEqual(
    Object.keys(late).filter((how) => !REFUSALS.includes(how)),
    [],
  );
  assert.ok((first["200"] ?? 0) > 0);
  assert.equal(first["500 internal_error"], undefined, JSON.stringify(first));
  assert.ok("401 unauthorized" in first || "401 unauthorized" in late);
}

describe("a revoked key", () => {
  for (const [weather, makeWeather] of WEATHER) {
    it(`stops within a second in every process, under load, ${weather}`, async () => {
      const { liveKey } = await deployment.team("enterprise");
      for (const api of apis) assert.equal((await api.verify(liveKey, ADDRESS)).status, 200);
      makeWeather();
      assertRefused(await underLoad(liveKey, () => revoke(liveKey)));
    });
  }

  for (const [how, breakIt, lateOnes] of [
    ["cut off from Postgres", () => postgresGate.shut(), 20],
    // Each waits for as long as a look-up may take.
    ["hearing nothing from Postgres", () => postgresGate.stall(), 4],
  ] as const) {
    it(`stops within a second in processes ${how}`, async () => {
      const { liveKey } = await deployment.team("enterprise");
      for (const api of apis) assert.equal((await api.verify(liveKey, ADDRESS)).status, 200);
      breakIt();
      const { late } = await underLoad(liveKey, () => revoke(liveKey), lateOnes);
      // The revocation cannot be read any more; but the announcement of a change was received.
      assert.deepEqual(Object.keys(late), ["503 unavailable"]);
    });
  }

  it("leaves the team's other keys alone", async () => {
    const team = await deployment.team("enterprise");
    const other = await addKey(team, "member", false);
    await revoke(team.liveKey);
    const changedMs = performance.now();
    await secondAfter(changedMs);
    for (const api of apis) {
      assert.equal((await api.verify(team.liveKey, ADDRESS)).status, 401);
      assert.equal((await api.verify(other, ADDRESS)).status, 200);
      assert.equal((await api.verify(team.testKey, "valid@example.com")).status, 200);
    }
  });
});

describe("a change to the team", () => {
  for (const [weather, makeWeather] of WEATHER) {
    it(`of its tier counts within a second in every process, ${weather}`, async () => {
      const team = await deployment.team("enterprise");
      for (const api of apis) assert.equal((await api.verify(team.liveKey, ADDRESS)).body.verdict, "valid");
      makeWeather();
      await changeTeam(team, "tier");
      await secondAfter(performance.now());
      for (const api of apis) {
        const { body, headers } = await api.verify(team.liveKey, ADDRESS);
        assert.deepEqual([body.verdict, body.reason], ["unknown", "smtp_not_in_tier"]);
        assert.equal(limitFields(headers).quota?.q, 100);
        assert.equal((await api.verify(team.liveKey, ADDRESS, "&refresh=true")).status, 402);
      }
    });

    it(`of its limits counts within a second in every process, ${weather}`, async () => {
      const team = await deployment.team("enterprise");
      for (const api of apis) {
        const { headers } = await api.verify(team.liveKey, ADDRESS);
        assert.equal(limitFields(headers).quota?.q, 50_000_000);
      }
      makeWeather();
      await changeTeam(team, "limits");
      await secondAfter(performance.now());
      for (const api of apis) {
        const { headers } = await api.verify(team.liveKey, ADDRESS);
        assert.equal(limitFields(headers).quota?.q, 777);
      }
    });

    it(`that deletes it stops all its keys within a second, under load, ${weather}`, async () => {
      const team = await deployment.team("enterprise");
      for (const api of apis) assert.equal((await api.verify(team.liveKey, ADDRESS)).status, 200);
      makeWeather();
      assertRefused(await underLoad(team.liveKey, () => changeTeam(team, "delete")));
      assert.equal((await apis[1].verify(team.testKey, "valid@example.com")).status, 401);
    });
  }
});
