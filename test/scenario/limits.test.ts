import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import * as v from "valibot";
import { ContractProblem } from "../support/contract.ts";
import { tally } from "../support/load.ts";
import { type OwnRedis, startOwnRedis } from "../support/own-services.ts";
import { limitFields } from "../support/rate-fields.ts";
import { type Answer, createDeployment, type TestApi, type TestDeployment } from "../support/service.ts";
import { createClosing } from "../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../support/tcp-gate.ts";
import { awayFromMidnight, until } from "../support/until.ts";

/** Quota and rate of a team over two processes, whatever Redis does: neither is exceeded, and nothing free is charged. */
const closing = createClosing();
let deployment: TestDeployment;
let redis: OwnRedis;
let redisGate: TcpGate;
let one: TestApi;
let two: TestApi;

before(async () => {
  await awayFromMidnight();
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  redis = await startOwnRedis();
  closing.after(() => redis.close());
  redisGate = await createTcpGate(redis.url);
  closing.after(() => redisGate.close());
  const settings = { REDIS_URL: throughGate(redis.url, redisGate) };
  [one, two] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  closing.after(() => Promise.all([one.stop(), two.stop()]).then(() => undefined));
});
after(closing.close);

beforeEach(async () => {
  redisGate.open();
  for (const api of [one, two])
    await until("the process is ready", async () => (await api.get("/readyz")).body.status === "ready");
  await Promise.all([one, two].map(sharesAgain));
});

/** Resolves once a process that was alone has found that Redis answers: it looks when it is asked. */
async function sharesAgain(api: TestApi): Promise<void> {
  const { id, testKey } = await deployment.team("enterprise");
  await until("rates are shared", async () => {
    await api.verify(testKey, "valid@example.com");
    return (await redis.client.exists(`rcpt:rate:${id}:test`)) === 1;
  });
}

let fresh = 0;
/** An address that exists and that nobody has asked about. */
const newAddress = () => `exists-l${fresh++}@plain.test`;

/** `count` requests at once, by turns to each process. */
function atOnce(key: string, count: number, address: (i: number) => string): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) => (i % 2 === 0 ? one : two).verify(key, address(i))),
  );
}

const outcomes = (answers: Answer[]) =>
  tally(answers.map(({ status, body }) => ({ status, code: (body.code as string | undefined) ?? null })));

const withStatus = (answers: Answer[], status: number) =>
  answers.filter((answer) => answer.status === status);

/**
 * A refusal says which limit it was and when to come again; and that nothing is left, unless something came back before
 * the answer was written: a unit that was free of charge, the next token of a fast bucket.
 */
function assertRefused(answer: Answer, limit: "quota" | "rate", most = 0): void {
  v.assert(ContractProblem, answer.body);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.code, limit === "quota" ? "quota_exceeded" : "rate_limited");
  const retryAfterS = Number(answer.headers.get("retry-after"));
  assert.ok(Number.isInteger(retryAfterS) && retryAfterS >= 1 && retryAfterS <= 86_400, `${retryAfterS}`);
  const fields = limitFields(answer.headers);
  assert.ok((fields[limit]?.r ?? Infinity) <= most, `${fields[limit]?.r} left`);
}

/** Units that the ledger holds as used, once every process has brought back what it had. */
function settledUse(teamId: string): Promise<number> {
  return until("all leases are back", async () => {
    const [row] = await deployment.sql<[{ leases: number; used: number | null }]>`
      select (select count(*) from quota_leases where team_id = ${teamId})::int as leases,
             (select sum(used) from quota_days where team_id = ${teamId})::int as used`;
    return row.leases === 0 && (row.used ?? 0);
  });
}

/** What becomes of Redis before the requests. */
const WEATHER: [string, () => Promise<void> | void][] = [
  ["as usual", () => undefined],
  ["with Redis cut", () => redisGate.shut()],
  ["with Redis silent", () => redisGate.stall()],
  ["after FLUSHALL", () => redis.flushAll()],
];

describe("daily quota over two processes", () => {
  for (const [weather, makeWeather] of WEATHER) {
    it(`answers exactly as many as the limit of three times as many at once, ${weather}`, async () => {
      const limit = 120;
      const team = await deployment.team("enterprise", { dailyQuota: limit });
      const other = await deployment.team("enterprise");
      const known = [newAddress(), newAddress()];
      for (const address of known) await one.verify(other.liveKey, address);
      await makeWeather();
      const answers = await atOnce(team.liveKey, 3 * limit, (i) =>
        i % 3 === 0 ? newAddress() : String(known[i % known.length]),
      );
      assert.deepEqual(outcomes(answers), { "200": limit, "429 quota_exceeded": 2 * limit });
      for (const answer of withStatus(answers, 429)) assertRefused(answer, "quota");
      for (const api of [one, two]) assertRefused(await api.verify(team.liveKey, newAddress()), "quota");
      assert.equal(await settledUse(team.id), limit);
    });

    it(`gives the last unit to exactly one of a hundred, ${weather}`, async () => {
      const team = await deployment.team("enterprise", { dailyQuota: 2 });
      const address = newAddress();
      assert.equal((await one.verify(team.liveKey, address)).status, 200);
      await makeWeather();
      const answers = await atOnce(team.liveKey, 100, () => address);
      assert.deepEqual(outcomes(answers), { "200": 1, "429 quota_exceeded": 99 });
      assert.equal(await settledUse(team.id), 2);
    });
  }

  it("brings units that lie idle in one process to the other", async () => {
    const limit = 320;
    const team = await deployment.team("enterprise", { dailyQuota: limit });
    const address = newAddress();
    // The first lease is of several units; the others of it lie idle from now on.
    assert.equal((await one.verify(team.liveKey, address)).status, 200);
    let answered = 1;
    await until("the other process has answered the rest", async () => {
      const asked = Array.from({ length: 40 }, () => two.verify(team.liveKey, address));
      answered += withStatus(await Promise.all(asked), 200).length;
      return answered >= limit;
    });
    assert.equal(answered, limit);
    for (const api of [one, two]) assertRefused(await api.verify(team.liveKey, address), "quota");
    assert.equal(await settledUse(team.id), limit);
  });

  it("takes a raised limit into use, and holds to a lowered one", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 3 });
    const address = newAddress();
    for (let i = 0; i < 3; i++) assert.equal((await one.verify(team.liveKey, address)).status, 200);
    assertRefused(await one.verify(team.liveKey, address), "quota");
    const setLimit = (dailyQuota: number) =>
      deployment.sql.begin(async (tx) => {
        await tx`update teams set limits = ${tx.json({ dailyQuota })} where id = ${team.id}`;
        await tx`insert into auth_changes (kind, subject) values ('team', ${team.id})`;
      });
    await setLimit(5);
    let answered = 0;
    await until("two more are answered", async () => {
      const { status } = await two.verify(team.liveKey, address);
      if (status === 200) answered += 1;
      return answered === 2;
    });
    assertRefused(await two.verify(team.liveKey, address), "quota");
    await setLimit(4);
    const quotaOf = async (api: TestApi) =>
      limitFields((await api.verify(team.liveKey, address)).headers).quota;
    for (const api of [one, two]) {
      await until("the lower limit is known", async () => (await quotaOf(api))?.q === 4);
      assert.equal((await quotaOf(api))?.r, 0);
    }
    assert.equal(await settledUse(team.id), 5);
  });
});

/** Units left after an answer, by its headers. */
function left(answer: Answer): number | undefined {
  return limitFields(answer.headers).quota?.r;
}

describe("what a request costs", () => {
  const FREE: [string, string][] = [
    ["exists@servfail.test", "dns_error"],
    ["exists@refused.test", "dns_error"],
    ["greylisted@plain.test", "greylisted"],
    ["ratelimited@limited.test", "rate_limited_by_server"],
    ["exists@dead.test", "no_connect"],
    ["tempfail@plain.test", "smtp_protocol_error"],
    ["drop@rude.test", "smtp_protocol_error"],
    ["blocked-dnsbl@blocked.test", "sender_blocked"],
  ];

  for (const [address, reason] of FREE) {
    it(`nothing for ${reason} (${address}), asked, cached or asked anew, by two processes`, async () => {
      const team = await deployment.team("enterprise", { dailyQuota: 2 });
      for (const api of [one, two]) {
        for (const query of ["", "", "&refresh=true", ""]) {
          const answer = await api.verify(team.liveKey, address, query);
          assert.deepEqual([answer.status, answer.body.reason, left(answer)], [200, reason, 2]);
        }
        // What one process has leased, or was told to be in flight, the other counts as used.
        assert.equal(await settledUse(team.id), 0);
      }
      const answers = await atOnce(team.liveKey, 40, () => address);
      const reasons = new Set(withStatus(answers, 200).map(({ body }) => body.reason));
      assert.deepEqual([...reasons], [reason]);
      for (const answer of withStatus(answers, 429)) assertRefused(answer, "quota", 2);
      assert.equal(await settledUse(team.id), 0);
    });
  }

  it("nothing for our own deadline, while the check goes on and is free for whoever asks again", async () => {
    const hasty = await deployment.startApi({ VERIFY_DEADLINE_MS: "200" });
    const team = await deployment.team("enterprise", { dailyQuota: 2 });
    const host = deployment.world.host("mx.multiline.test");
    host.hold("rcpt");
    try {
      for (let i = 0; i < 5; i++) {
        const answer = await hasty.verify(team.liveKey, "exists-deadline@multiline.test");
        assert.deepEqual([answer.status, answer.body.reason, left(answer)], [200, "deadline", 2]);
      }
    } finally {
      host.release();
    }
    assert.equal(await settledUse(team.id), 0);
    await hasty.stop();
  });

  it("one unit for an answer, whether found out, remembered, or plain from the address", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 20 });
    deployment.world.dns.set("mailinator.com", { mx: [[10, "mx.plain.test"]] });
    const address = newAddress();
    const steps: [string, string, string][] = [
      [address, "", "accepted_mailbox"],
      [address, "", "accepted_mailbox"],
      [address, "", "accepted_mailbox"],
      [address, "&refresh=true", "accepted_mailbox"],
      ["no address at all", "", "invalid_format"],
      ["no address at all", "", "invalid_format"],
      ["missing@plain.test", "", "mailbox_not_found"],
      ["full@plain.test", "", "mailbox_full"],
      ["policy@plain.test", "", "refused_by_policy"],
      ["exists@catchall.test", "", "catch_all"],
      ["exists@nullmx.test", "", "null_mx"],
      ["exists@mailinator.com", "", "disposable_domain"],
    ];
    let expected = 20;
    for (const [email, query, reason] of steps) {
      const answer = await one.verify(team.liveKey, email, query);
      expected -= 1;
      assert.deepEqual([answer.status, answer.body.reason, left(answer)], [200, reason, expected]);
    }
    assert.equal(await settledUse(team.id), steps.length);
  });

  it("one unit where the tier does not probe", async () => {
    const team = await deployment.team("pro", { dailyQuota: 3 });
    const answer = await one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.body.reason, left(answer)], ["smtp_not_in_tier", 2]);
  });

  it("nothing for a request that is refused: bad, not in the tier, not authenticated, nowhere", async () => {
    const team = await deployment.team("starter", { dailyQuota: 3 });
    const refused: [string, number][] = [
      ["/v1/verify", 400],
      ["/v1/verify?email=", 400],
      [`/v1/verify?email=${"a".repeat(321)}`, 400],
      ["/v1/verify?email=a@plain.test&refresh=maybe", 400],
      ["/v1/verify?email=a@plain.test&refresh=true", 402],
      ["/v1/verify/nothing?email=a@plain.test", 404],
    ];
    for (const [path, status] of refused)
      assert.equal((await one.get(path, team.liveKey)).status, status, path);
    assert.equal(left(await one.verify(team.liveKey, newAddress())), 2);
    assert.equal(await settledUse(team.id), 1);
  });

  it("nothing with a test key, which has no quota to speak of", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 1 });
    for (const local of ["valid", "invalid", "unknown", "full", "disposable", "nobody", "quota-exceeded"]) {
      const { headers, body } = await one.verify(team.testKey, `${local}@example.com`);
      assert.deepEqual(Object.keys(limitFields(headers)), ["rate"]);
      if (local === "quota-exceeded") assert.equal(body.code, "quota_exceeded");
      else assert.equal(body.livemode, false);
    }
    const answer = await one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.status, left(answer)], [200, 0]);
    assert.equal((await one.verify(team.testKey, "valid@example.com")).status, 200);
    assert.equal(await settledUse(team.id), 1);
  });

  it("nothing for a client that leaves before its answer", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 2 });
    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const headers = { Authorization: `Bearer ${team.liveKey}` };
    try {
      for (let i = 0; i < 4; i++) {
        const leave = new AbortController();
        const url = `${one.url}/v1/verify?email=exists-left${i}@lockstep.test`;
        const asked = fetch(url, { headers, signal: leave.signal });
        await until("the request is being worked on", async () =>
          /rcpt_http_requests_in_flight 1\b/.test(await one.metrics()),
        );
        leave.abort();
        await assert.rejects(asked, { name: "AbortError" });
        await until("its work has ended", async () =>
          /rcpt_http_requests_in_flight 0\b/.test(await one.metrics()),
        );
      }
    } finally {
      host.release();
    }
    const answer = await one.verify(team.liveKey, newAddress());
    assert.deepEqual([answer.status, left(answer)], [200, 1]);
    assert.equal(await settledUse(team.id), 1);
  });
});

/** The most that a bucket may let through from before the first request to after the last answer. */
async function measured(ratePerS: number, burst: number, ask: () => Promise<Answer[]>) {
  const beganMs = performance.now();
  const answers = await ask();
  const elapsedS = (performance.now() - beganMs) / 1_000;
  return { answers, most: Math.floor(burst + ratePerS * elapsedS) };
}

describe("rate over two processes", () => {
  const BUCKETS: [number, number][] = [
    [1, 1],
    [2, 10],
    [50, 40],
    [200, 100],
  ];

  for (const [ratePerS, rateBurst] of BUCKETS) {
    it(`lets ${rateBurst} through at once and ${ratePerS} a second, no more`, async () => {
      const team = await deployment.team("enterprise", { ratePerS, rateBurst });
      const address = newAddress();
      const { answers, most } = await measured(ratePerS, rateBurst, () =>
        atOnce(team.liveKey, 3 * rateBurst + 100, () => address),
      );
      const passed = withStatus(answers, 200).length;
      assert.ok(passed <= most, `${passed} of at most ${most}`);
      assert.ok(passed >= rateBurst, `${passed} of a burst of ${rateBurst}`);
      assert.equal(passed + withStatus(answers, 429).length, answers.length);
      for (const answer of withStatus(answers, 429))
        assertRefused(answer, "rate", ratePerS > 2 ? rateBurst : 0);
    });
  }

  it("holds over several seconds of hammering, by live and test keys apart", async () => {
    const ratePerS = 20;
    const rateBurst = 5;
    const team = await deployment.team("enterprise", { ratePerS, rateBurst });
    const address = newAddress();
    for (const [key, email] of [
      [team.liveKey, address],
      [team.testKey, "valid@example.com"],
    ] as const) {
      const { answers, most } = await measured(ratePerS, rateBurst, async () => {
        const all: Answer[] = [];
        for (let round = 0; round < 30; round++) all.push(...(await atOnce(key, 20, () => email)));
        return all;
      });
      const passed = withStatus(answers, 200).length;
      assert.ok(passed >= rateBurst && passed <= most, `${passed} of at most ${most}`);
    }
  });

  for (const [weather, makeWeather] of WEATHER.slice(1, 3)) {
    it(`is kept by each process alone ${weather}`, async () => {
      const ratePerS = 2;
      const rateBurst = 10;
      const team = await deployment.team("enterprise", { ratePerS, rateBurst });
      const address = newAddress();
      await makeWeather();
      for (const api of [one, two]) {
        const { answers, most } = await measured(ratePerS, rateBurst, () =>
          Promise.all(Array.from({ length: 60 }, () => api.verify(team.liveKey, address))),
        );
        const passed = withStatus(answers, 200).length;
        assert.ok(passed >= rateBurst && passed <= most, `${passed} of at most ${most}`);
        for (const answer of withStatus(answers, 429)) assertRefused(answer, "rate");
      }
    });
  }

  it("comes to no more than a burst anew when Redis forgets", async () => {
    const [ratePerS, rateBurst] = [2, 20];
    const team = await deployment.team("enterprise", { ratePerS, rateBurst });
    const address = newAddress();
    const { answers, most } = await measured(ratePerS, 2 * rateBurst, async () => {
      const first = await atOnce(team.liveKey, 60, () => address);
      await redis.flushAll();
      return [...first, ...(await atOnce(team.liveKey, 60, () => address))];
    });
    const passed = withStatus(answers, 200).length;
    assert.ok(passed >= rateBurst && passed <= most, `${passed} of at most ${most}`);
    assert.equal(passed + withStatus(answers, 429).length, answers.length);
  });

  it("tells what is left, request by request, and when there is one more", async () => {
    const team = await deployment.team("enterprise", { ratePerS: 1, rateBurst: 5, dailyQuota: 100 });
    const address = newAddress();
    const { rate, quota } = limitFields((await one.verify(team.liveKey, address)).headers);
    assert.deepEqual([rate?.q, rate?.w, quota?.q, quota?.w], [5, 5, 100, 86_400]);
    assert.equal(quota?.r, 99);
    const answers = await atOnce(team.liveKey, 20, () => address);
    const refused = withStatus(answers, 429);
    assert.ok(refused.length > 0);
    for (const answer of refused) {
      assertRefused(answer, "rate");
      const { rate: state } = limitFields(answer.headers);
      assert.ok(Number(answer.headers.get("retry-after")) <= 2 && (state?.t ?? 0) <= 2);
      assert.ok((limitFields(answer.headers).quota?.r ?? 0) >= 99 - withStatus(answers, 200).length);
    }
  });
});
