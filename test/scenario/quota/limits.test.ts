import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeLimits } from "../../support/limits.ts";
import { limitFields } from "../../support/rate-fields.ts";
import type { Answer, TestApi } from "../../support/service.ts";
import { assertRefused, newAddress, outcomes, useTwoApis, withStatus } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** Quota and rate of a team over two processes, whatever fault Redis has: neither is exceeded. */
const apis = useTwoApis();

describe("daily quota over two processes", () => {
  for (const [weather, makeWeather] of apis.weather) {
    it(`answers exactly as many as the limit of three times as many at once, ${weather}`, async (t) => {
      // So long a refusal is what processes know, however late their answers are written.
      changeLimits(t, { quota: { refusalMs: 5_000 } });
      // For each process fewer at once than it admits however slow this machine is.
      const limit = 80;
      const team = await apis.deployment.team("enterprise", { dailyQuota: limit });
      const other = await apis.deployment.team("enterprise");
      const known = [newAddress(), newAddress()];
      for (const address of known) await apis.one.verify(other.liveKey, address);
      await makeWeather();
      const answers = await apis.atOnce(team.liveKey, 3 * limit, (i) =>
        i % 3 === 0 ? newAddress() : String(known[i % known.length]),
      );
      assert.deepEqual(outcomes(answers), { "200": limit, "429 quota_exceeded": 2 * limit });
      for (const answer of withStatus(answers, 429)) assertRefused(answer, "quota");
      for (const api of [apis.one, apis.two])
        assertRefused(await api.verify(team.liveKey, newAddress()), "quota");
      assert.equal(await apis.settledUse(team.id), limit);
    });

    it(`gives the last unit to exactly one of a hundred, ${weather}`, async () => {
      const team = await apis.deployment.team("enterprise", { dailyQuota: 2 });
      const address = newAddress();
      assert.equal((await apis.one.verify(team.liveKey, address)).status, 200);
      await makeWeather();
      const answers = await apis.atOnce(team.liveKey, 100, () => address);
      assert.deepEqual(outcomes(answers), { "200": 1, "429 quota_exceeded": 99 });
      assert.equal(await apis.settledUse(team.id), 2);
    });
  }

  it("brings units that lie idle in one process to the other", async () => {
    const limit = 320;
    const team = await apis.deployment.team("enterprise", { dailyQuota: limit });
    const address = newAddress();
    // The first lease is of several units; the others of it lie idle from now on.
    assert.equal((await apis.one.verify(team.liveKey, address)).status, 200);
    let answered = 1;
    await until("the other process has answered the rest", async () => {
      const asked = Array.from({ length: 40 }, () => apis.two.verify(team.liveKey, address));
      answered += withStatus(await Promise.all(asked), 200).length;
      return answered >= limit;
    });
    assert.equal(answered, limit);
    for (const api of [apis.one, apis.two]) assertRefused(await api.verify(team.liveKey, address), "quota");
    assert.equal(await apis.settledUse(team.id), limit);
  });

  it("takes a raised limit into use, and holds to a lowered one", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 3 });
    const address = newAddress();
    for (let i = 0; i < 3; i++) assert.equal((await apis.one.verify(team.liveKey, address)).status, 200);
    assertRefused(await apis.one.verify(team.liveKey, address), "quota");
    const setLimit = (dailyQuota: number) =>
      apis.deployment.sql.begin(async (tx) => {
        await tx`update teams set limits = ${tx.json({ dailyQuota })} where id = ${team.id}`;
        await tx`insert into auth_changes (kind, subject) values ('team', ${team.id})`;
      });
    await setLimit(5);
    let answered = 0;
    await until("two more are answered", async () => {
      const { status } = await apis.two.verify(team.liveKey, address);
      if (status === 200) answered += 1;
      return answered === 2;
    });
    assertRefused(await apis.two.verify(team.liveKey, address), "quota");
    await setLimit(4);
    const quotaOf = async (api: TestApi) =>
      limitFields((await api.verify(team.liveKey, address)).headers).quota;
    for (const api of [apis.one, apis.two]) {
      await until("the lower limit is known", async () => (await quotaOf(api))?.q === 4);
      assert.equal((await quotaOf(api))?.r, 0);
    }
    assert.equal(await apis.settledUse(team.id), 5);
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
      const team = await apis.deployment.team("enterprise", { ratePerS, rateBurst });
      const address = newAddress();
      const { answers, most } = await measured(ratePerS, rateBurst, () =>
        apis.atOnce(team.liveKey, 3 * rateBurst + 100, () => address),
      );
      const passed = withStatus(answers, 200).length;
      assert.ok(passed <= most, `${passed} of at most ${most}`);
      assert.ok(passed >= rateBurst, `${passed} of a burst of ${rateBurst}`);
      assert.equal(passed + withStatus(answers, 429).length, answers.length);
      for (const answer of withStatus(answers, 429))
        assertRefused(answer, "rate", ratePerS > 2 ? rateBurst : 1);
    });
  }

  it("holds over several seconds of hammering, by live and test keys apart", async () => {
    const ratePerS = 20;
    const rateBurst = 5;
    const team = await apis.deployment.team("enterprise", { ratePerS, rateBurst });
    const address = newAddress();
    for (const [key, email] of [
      [team.liveKey, address],
      [team.testKey, "valid@example.com"],
    ] as const) {
      const { answers, most } = await measured(ratePerS, rateBurst, async () => {
        const all: Answer[] = [];
        for (let round = 0; round < 30; round++) all.push(...(await apis.atOnce(key, 20, () => email)));
        return all;
      });
      const passed = withStatus(answers, 200).length;
      assert.ok(passed >= rateBurst && passed <= most, `${passed} of at most ${most}`);
    }
  });

  for (const [weather, makeWeather] of apis.weather.slice(1, 3)) {
    it(`is kept by each process alone ${weather}`, async () => {
      const ratePerS = 2;
      const rateBurst = 10;
      const team = await apis.deployment.team("enterprise", { ratePerS, rateBurst });
      const address = newAddress();
      await makeWeather();
      for (const api of [apis.one, apis.two]) {
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
    const team = await apis.deployment.team("enterprise", { ratePerS, rateBurst });
    const address = newAddress();
    const { answers, most } = await measured(ratePerS, 2 * rateBurst, async () => {
      const first = await apis.atOnce(team.liveKey, 60, () => address);
      await apis.flushRedis();
      return [...first, ...(await apis.atOnce(team.liveKey, 60, () => address))];
    });
    const passed = withStatus(answers, 200).length;
    assert.ok(passed >= rateBurst && passed <= most, `${passed} of at most ${most}`);
    assert.equal(passed + withStatus(answers, 429).length, answers.length);
  });

  it("reports what is left, request by request, and when there is one more", async () => {
    const team = await apis.deployment.team("enterprise", { ratePerS: 1, rateBurst: 5, dailyQuota: 100 });
    const address = newAddress();
    const { rate, quota } = limitFields((await apis.one.verify(team.liveKey, address)).headers);
    assert.deepEqual([rate?.q, rate?.w, quota?.q, quota?.w], [5, 5, 100, 86_400]);
    assert.equal(quota?.r, 99);
    const answers = await apis.atOnce(team.liveKey, 20, () => address);
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
