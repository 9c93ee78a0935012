import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { testObjects } from "../../support/embedded.ts";
import { waitForPostgres } from "../../support/limits.ts";
import { type Load, type Sample, startLoad, tally } from "../../support/load.ts";
import { type OwnRedis, startOwnRedis } from "../../support/own-services.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Two processes behind gates. With one dependency away at a time, the tests check which requests still succeed. */
const closing = createClosing();
let deployment: TestDeployment;
let redis: OwnRedis;
const gates = {} as Record<"redis" | "postgres" | "objects", TcpGate>;
let startApis: () => Promise<[TestApi, TestApi]>;
let apis: [TestApi, TestApi];
let key: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  redis = await startOwnRedis();
  closing.after(() => redis.close());
  const objects = await testObjects();
  const urls = { redis: redis.url, postgres: deployment.settings.DATABASE_URL, objects: objects.endpoint };
  for (const name of ["redis", "postgres", "objects"] as const) {
    gates[name] = await createTcpGate(urls[name]);
    closing.after(() => gates[name].close());
  }
  const settings = {
    REDIS_URL: throughGate(urls.redis, gates.redis),
    DATABASE_URL: throughGate(urls.postgres, gates.postgres),
    S3_ENDPOINT: throughGate(urls.objects, gates.objects).replace(/\/$/, ""),
    S3_REGION: objects.region,
    S3_BUCKET: objects.bucket,
    S3_ACCESS_KEY_ID: objects.accessKeyId,
    S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
  };
  startApis = () => Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  apis = await startApis();
  closing.after(() => stop(apis));
  key = (await deployment.team("enterprise")).liveKey;
});
after(closing.close);

afterEach(async () => {
  for (const gate of Object.values(gates)) gate.open();
  for (const api of apis) await reports(api, 200, "ready", {});
});

async function stop(those: readonly TestApi[]): Promise<void> {
  await Promise.all(those.map((api) => api.stop()));
}

/** Faults of a connection. */
const OUTAGES = [
  ["is cut off", (gate: TcpGate) => gate.shut()],
  ["falls silent", (gate: TcpGate) => gate.stall()],
] as const;

const ALL_OK = { postgres: "ok", redis: "ok", objects: "ok", checks: "ok" };

/** Resolves once /readyz says so; `changed` names the dependencies that are not `ok`. */
async function reports(api: TestApi, status: number, state: string, changed: Partial<typeof ALL_OK>) {
  const expected = JSON.stringify({ status: state, dependencies: { ...ALL_OK, ...changed } });
  await until(`/readyz says ${expected}`, async () => {
    const answer = await api.get("/readyz");
    return answer.status === status && JSON.stringify(answer.body) === expected;
  });
}

let fresh = 0;
const newAddress = () => `exists-o${fresh++}@plain.test`;

/** Half of the requests are for a cached address, half for new ones. */
function trafficOn(api: TestApi, ofKey: string): Load {
  let turn = 0;
  return startLoad(4, () => api.verify(ofKey, turn++ % 2 === 0 ? "exists@plain.test" : newAddress()));
}

/**
 * Gives the tests of the calling suite, in which Postgres is there, processes that wait for it as long as it takes. With
 * their own bounds they refuse with 503 on a busy machine too.
 */
function waitForPostgresHere(): void {
  const suite = createClosing();
  before(async () => {
    const hasty = apis;
    suite.after(() => {
      apis = hasty;
    });
    waitForPostgres(suite);
    const patient = await startApis();
    suite.after(() => stop(patient));
    apis = patient;
  });
  after(suite.close);
}

/** Runs `act` under traffic, until each process has given `after` more answers. @returns all answers */
async function underTraffic(act: () => Promise<void> | void, after = 20): Promise<Sample[]> {
  const loads = apis.map((api) => trafficOn(api, key));
  const each = (count: number) => () => loads.every(({ samples }) => samples.length >= count);
  try {
    await until("both serve", each(10));
    await act();
    const most = Math.max(...loads.map(({ samples }) => samples.length));
    await until("both have gone on", each(most + after));
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  return loads.flatMap(({ samples }) => [...samples]);
}

describe("Redis", () => {
  waitForPostgresHere();
  for (const [how, breakIt] of OUTAGES) {
    it(`${how}: every address is answered, found out or remembered, and the report says degraded`, async () => {
      const samples = await underTraffic(async () => {
        breakIt(gates.redis);
        for (const api of apis) await reports(api, 200, "degraded", { redis: "down" });
      });
      assert.deepEqual(tally(samples), { "200": samples.length });
      const answer = await apis[0].verify(key, newAddress());
      assert.deepEqual([answer.body.verdict, answer.body.cached], ["valid", false]);
    });

    it(`comes back after it ${how}: caches and rates are shared again, without a restart`, async () => {
      breakIt(gates.redis);
      for (const api of apis) await reports(api, 200, "degraded", { redis: "down" });
      await Promise.all(apis.map((api) => api.verify(key, newAddress())));
      gates.redis.open();
      for (const api of apis) await reports(api, 200, "ready", {});
      const address = newAddress();
      await apis[0].verify(key, address);
      assert.equal((await apis[1].verify(key, address)).body.cached, true);
      for (const api of apis) {
        const { id, testKey } = await deployment.team("enterprise");
        await until("the bucket is in Redis", async () => {
          await api.verify(testKey, "valid@example.com");
          return (await redis.client.exists(`rcpt:rate:${id}:test`)) === 1;
        });
      }
    });
  }

  it("is emptied, scripts included, again and again under load: no client notices", async () => {
    const samples = await underTraffic(async () => {
      for (let i = 0; i < 10; i++) {
        await redis.flushAll();
        await apis[0].verify(key, newAddress());
      }
    });
    assert.deepEqual(tally(samples), { "200": samples.length });
  });
});

describe("Postgres", () => {
  for (const [how, breakIt] of OUTAGES) {
    it(`${how}: served while units are leased, then 503, and 200 again once it is back`, async () => {
      const team = await deployment.team("enterprise");
      const loads = apis.map((api) => trafficOn(api, team.liveKey));
      const lastIs = (code: number) => () => loads.every(({ samples }) => samples.at(-1)?.status === code);
      let brokenMs = 0;
      let backMs = 0;
      try {
        await until("leases have grown", () => loads.every(({ samples }) => samples.length >= 50));
        breakIt(gates.postgres);
        brokenMs = performance.now();
        for (const api of apis) await reports(api, 503, "unavailable", { postgres: "down" });
        await until("the leases have ended", lastIs(503));
        gates.postgres.open();
        backMs = performance.now();
        await until("both serve again", lastIs(200));
        for (const api of apis) await reports(api, 200, "ready", {});
      } finally {
        await Promise.all(loads.map((load) => load.stop()));
      }
      const samples = loads.flatMap(({ samples: own }) => [...own]);
      const meanwhile = samples.filter(({ beganMs }) => beganMs > brokenMs && beganMs < backMs);
      assert.ok((tally(meanwhile)["200"] ?? 0) > 0, "served from leases");
      assert.deepEqual(Object.keys(tally(samples)).sort(), ["200", "503 unavailable"]);
      const answered = tally(samples)["200"] ?? 0;
      const charged = await chargedTo(team.id);
      assert.ok(charged >= answered, `${answered} answered, ${charged} charged`);
    });
  }

  it("says when to come again with its 503, and blames neither key nor quota", async () => {
    const { liveKey } = await deployment.team("enterprise");
    gates.postgres.shut();
    // Never seen here: neither the key nor a unit can be had.
    const { status, headers, body } = await apis[0].verify(liveKey, newAddress());
    assert.deepEqual([status, body.code], [503, "unavailable"]);
    assert.ok(Number(headers.get("retry-after")) >= 1);
    assert.equal(headers.get("content-type"), "application/problem+json");
    // A mistyped key is refused, whatever store is down.
    assert.equal((await apis[0].verify(liveKey.slice(0, -1), newAddress())).status, 401);
    assert.equal((await apis[0].get("/healthz")).status, 200);
  });

  it("ends every connection under load, as a fail-over does: soon all is well, and nothing was a 500", async () => {
    const samples = await underTraffic(async () => {
      for (let i = 0; i < 5; i++) {
        await deployment.sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'rcpt-api'`;
      }
    }, 100);
    const counts = tally(samples);
    assert.deepEqual(
      Object.keys(counts).filter((name) => name !== "200" && name !== "503 unavailable"),
      [],
    );
    for (const api of apis)
      await until("served", async () => (await api.verify(key, newAddress())).status === 200);
  });
});

/** Units charged to the team: settled, and reported for leases. */
async function chargedTo(teamId: string): Promise<number> {
  return until("all leases are settled", async () => {
    await deployment.sql`select quota_reap(100)`;
    const [row] = await deployment.sql<[{ leases: number; used: number }]>`
      select (select count(*) from quota_leases where team_id = ${teamId})::int as leases,
             (select coalesce(sum(used), 0) from quota_days where team_id = ${teamId})::int as used`;
    return row.leases === 0 && row.used;
  });
}

describe("Redis and Postgres both", () => {
  for (const [how, breakIt] of OUTAGES) {
    it(`${how === "is cut off" ? "are cut off" : "fall silent"}: no key is trusted for more than a second`, async () => {
      const loads = apis.map((api) => trafficOn(api, key));
      let endMs = Number.POSITIVE_INFINITY;
      const isLate = ({ beganMs }: Sample) => beganMs > endMs;
      try {
        await until("both serve", () => loads.every(({ samples }) => samples.length >= 10));
        breakIt(gates.redis);
        breakIt(gates.postgres);
        endMs = performance.now() + LIMITS.keys.confirmMs;
        await until("the second is over", () =>
          loads.every(({ samples }) => samples.filter(isLate).length >= 10),
        );
        for (const api of apis) await reports(api, 503, "unavailable", { redis: "down", postgres: "down" });
      } finally {
        await Promise.all(loads.map((load) => load.stop()));
      }
      const samples = loads.flatMap(({ samples: own }) => [...own]);
      assert.deepEqual(Object.keys(tally(samples.filter(isLate))), ["503 unavailable"]);
      assert.deepEqual(Object.keys(tally(samples)).sort(), ["200", "503 unavailable"]);
      gates.redis.open();
      gates.postgres.open();
      for (const api of apis)
        await until("served again", async () => (await api.verify(key, newAddress())).status === 200);
    });
  }
});

describe("DNS", () => {
  it("falls silent: unknown, free of charge; when it is back the next address is answered", async () => {
    const hasty = await deployment.startApi({ VERIFY_DEADLINE_MS: "300" });
    const team = await deployment.team("enterprise", { dailyQuota: 10 });
    deployment.world.dns.hold();
    try {
      const answers = await Promise.all(
        [1, 2, 3].map((i) => hasty.verify(team.liveKey, `exists@dns-gone-${i}.test`)),
      );
      for (const { status, body } of answers)
        assert.deepEqual([status, body.verdict, body.reason], [200, "unknown", "deadline"]);
    } finally {
      deployment.world.dns.release();
    }
    // However long a loaded machine takes to find it out: what comes at the deadline is free.
    await until("it is answered", async () => {
      const { status, body } = await hasty.verify(team.liveKey, "exists@failover-busy.test");
      assert.equal(status, 200);
      if (body.reason === "deadline") return false;
      assert.equal(body.verdict, "valid");
      return true;
    });
    assert.equal(await chargedTo(team.id), 1);
    await hasty.stop();
  });

  it("is down: unknown, dns_error, free of charge, and no fault of the recipient", async () => {
    // Nothing listens there.
    const lost = await deployment.startApi({ DNS_SERVERS: "127.0.0.1:1", VERIFY_DEADLINE_MS: "60000" });
    const team = await deployment.team("enterprise", { dailyQuota: 2 });
    const answers = await Promise.all(
      [1, 2].map((i) => lost.verify(team.liveKey, `exists@dns-lost-${i}.test`)),
    );
    for (const { status, body } of answers) {
      assert.deepEqual([status, body.verdict, body.reason], [200, "unknown", "dns_error"]);
      assert.equal(body.checks.mx.ok, false);
    }
    assert.equal(await chargedTo(team.id), 0);
    await lost.stop();
  });
});

describe("object storage", () => {
  waitForPostgresHere();
  for (const [how, breakIt] of OUTAGES) {
    it(`${how}: single addresses are answered all the same, and the report says degraded`, async () => {
      const samples = await underTraffic(async () => {
        breakIt(gates.objects);
        for (const api of apis) await reports(api, 200, "degraded", { objects: "down" });
      });
      assert.deepEqual(tally(samples), { "200": samples.length });
    });
  }
});
