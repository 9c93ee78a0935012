import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { askAgain } from "../../support/ask-again.ts";
import { ContractProblem } from "../../support/contract.ts";
import { changeLimits } from "../../support/limits.ts";
import fc from "../../support/properties.ts";
import type { Answer, TestApi } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { newAddress, outcomes, useTwoApis, withStatus } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** A team's usage over two processes: exactly the answers that were given. */
const apis = useTwoApis();
const closing = createClosing();
// However long the counts take to be written: figures without them are older.
before(() => changeLimits(closing, { usage: { flushWaitMs: 30_000 } }));
after(closing.close);

interface Day {
  date: string;
  used: number;
  single: number;
  bulk: number;
  cached: number;
  verdicts: Record<"valid" | "invalid" | "risky" | "unknown", number>;
}
interface Today extends Day {
  tier: string;
  limit: number;
  remaining: number;
  resets_at: string;
}
interface History {
  data: Day[];
  days: number;
  next_cursor: null;
}

const NONE = {
  used: 0,
  single: 0,
  bulk: 0,
  cached: 0,
  verdicts: { valid: 0, invalid: 0, risky: 0, unknown: 0 },
};
const DAY_MS = 86_400_000;
const dayAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

async function figuresAt<T>(api: TestApi, path: string, key: string): Promise<T> {
  const { status, body } = await askAgain(() => api.send<T>("GET", path, { key }));
  assert.equal(status, 200);
  return body;
}

const usageOf = (api: TestApi, key: string) => figuresAt<Today>(api, "/v1/usage", key);

function historyOf(api: TestApi, key: string, query = ""): Promise<History> {
  return figuresAt<History>(api, `/v1/usage/history${query}`, key);
}

/** Answers read, counted as usage counts them; reasons for which `isFree` holds are uncharged. */
function counted(answers: readonly Answer[], isFree: (reason: string) => boolean = () => false) {
  const read = withStatus([...answers], 200);
  const day = structuredClone(NONE);
  for (const { body } of read) {
    day.single += 1;
    day.verdicts[body.verdict] += 1;
    if (body.cached) day.cached += 1;
    if (!isFree(body.reason)) day.used += 1;
  }
  return day;
}

const figures = ({ used, single, bulk, cached, verdicts }: Day) => ({
  used,
  single,
  bulk,
  cached,
  verdicts,
});

describe("today's use", () => {
  it("is the limit and nothing used, before anything was asked", async () => {
    const team = await apis.deployment.team("starter");
    assert.deepEqual(await usageOf(apis.one, team.session), {
      ...NONE,
      date: dayAgo(0),
      tier: "starter",
      limit: 10_000,
      remaining: 10_000,
      resets_at: `${dayAgo(-1)}T00:00:00.000Z`,
    });
  });

  it("is exact at once in the process that answered, answer by answer", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 20 });
    const asked: Answer[] = [];
    const address = newAddress();
    for (const email of [
      address,
      address,
      "missing@plain.test",
      "greylisted@plain.test",
      "no address",
      address,
    ]) {
      asked.push(await apis.one.verify(team.liveKey, email));
      const expected = counted(asked, (reason) => reason === "greylisted");
      const usage = await usageOf(apis.one, team.liveKey);
      assert.deepEqual(figures(usage), expected);
      assert.equal(usage.remaining, 20 - expected.used);
    }
  });

  it("does not count test keys, nor what was refused", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 1 });
    await apis.one.verify(team.testKey, "valid@example.com");
    const first = await apis.one.verify(team.liveKey, newAddress());
    assert.equal((await apis.one.verify(team.liveKey, newAddress())).status, 429);
    assert.equal((await apis.one.verify(team.liveKey, "")).status, 400);
    const usage = await usageOf(apis.one, team.testKey);
    assert.deepEqual([figures(usage), usage.remaining], [counted([first]), 0]);
  });

  it("counts every answer of two processes under load, once", async () => {
    const team = await apis.deployment.team("enterprise");
    const known = [newAddress(), newAddress(), "missing@plain.test", "exists@servfail.test", "nobody"];
    const answers: Answer[] = [];
    for (let round = 0; round < 4; round++)
      answers.push(
        ...(await apis.atOnce(team.liveKey, 150, (i) =>
          i % 3 === 0 ? newAddress() : String(known[i % known.length]),
        )),
      );
    // On a loaded machine Postgres may be slow, so that some are refused with 503: those do not count.
    assert.deepEqual(
      Object.keys(outcomes(answers)).filter((name) => name !== "200" && name !== "503 unavailable"),
      [],
    );
    const expected = counted(answers, (reason) => reason === "dns_error");
    assert.ok(expected.cached > 0 && expected.verdicts.unknown > 0);
    for (const api of [apis.one, apis.two]) {
      await until("the other process has told", async () => {
        const usage = await usageOf(api, team.liveKey);
        return usage.single === expected.single && usage.used === expected.used;
      });
      assert.deepEqual(figures(await usageOf(api, team.liveKey)), expected);
    }
    assert.equal(await apis.settledUse(team.id), expected.used);
  });

  it("is another team's for another team", async () => {
    const [a, b] = await Promise.all([
      apis.deployment.team("enterprise"),
      apis.deployment.team("enterprise"),
    ]);
    const answer = await apis.one.verify(a.liveKey, newAddress());
    assert.deepEqual(figures(await usageOf(apis.one, a.liveKey)), counted([answer]));
    assert.deepEqual(figures(await usageOf(apis.one, b.liveKey)), NONE);
  });

  it("never leaves less than nothing, also when the limit was lowered below it", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 10 });
    for (let i = 0; i < 4; i++) await apis.one.verify(team.liveKey, newAddress());
    await apis.deployment.sql`
      update teams set limits = ${apis.deployment.sql.json({ dailyQuota: 3 })} where id = ${team.id}`;
    const usage = await until("the lower limit is known", async () => {
      const read = await usageOf(apis.one, team.liveKey);
      return read.limit === 3 && read;
    });
    assert.deepEqual([usage.used, usage.remaining], [4, 0]);
  });

  it("leaves to others what no job has reserved", async () => {
    const team = await apis.deployment.team("enterprise", { dailyQuota: 10 });
    const { sql } = apis.deployment;
    await apis.one.verify(team.liveKey, newAddress());
    await sql`
      insert into jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing,
                        with_evidence, metadata, rows_total, day)
      values (${`job_of_${team.id}`}, ${team.id}, true, 'queued', '{}', 'k', '{}', 10, 1, true, false, '{}', 6,
              ${dayAgo(0)})`;
    await sql`insert into quota_holds values (${`job_of_${team.id}`}, ${team.id}, ${dayAgo(0)}, 6)`;
    const { used, remaining } = await usageOf(apis.one, team.liveKey);
    assert.deepEqual([used, remaining], [1, 3]);
  });

  it("is for members with a credential, and takes no parameter", async () => {
    const { liveKey } = await apis.deployment.team("free");
    for (const [path, key, status] of [
      ["/v1/usage", undefined, 401],
      ["/v1/usage?days=3", liveKey, 400],
      ["/v1/usage/history?month=1", liveKey, 400],
    ] as const) {
      const answer = await apis.one.send("GET", path, key === undefined ? {} : { key });
      assert.equal(answer.status, status, path);
      v.assert(ContractProblem, answer.body);
    }
  });
});

describe("the history", () => {
  it("has today first and every day before it, used or not, as many as the tier keeps", async () => {
    const team = await apis.deployment.team("starter");
    const answer = await apis.one.verify(team.liveKey, newAddress());
    await apis.deployment.sql`
      insert into usage_days values (${team.id}, ${dayAgo(3)}, 4, 20, 2, 10, 5, 4, 5)`;
    await apis.deployment.sql`
      insert into quota_days (team_id, day, used) values (${team.id}, ${dayAgo(3)}, 22)`;
    const { data, days, next_cursor: next } = await historyOf(apis.one, team.liveKey, "?days=5");
    assert.deepEqual([days, next], [5, null]);
    assert.deepEqual(data, [
      { date: dayAgo(0), ...counted([answer]) },
      { date: dayAgo(1), ...NONE },
      { date: dayAgo(2), ...NONE },
      {
        date: dayAgo(3),
        used: 22,
        single: 4,
        bulk: 20,
        cached: 2,
        verdicts: { valid: 10, invalid: 5, risky: 4, unknown: 5 },
      },
      { date: dayAgo(4), ...NONE },
    ]);
    assert.equal((await historyOf(apis.one, team.liveKey)).data.length, 30);
    assert.equal((await historyOf(apis.one, team.liveKey, "?days=365")).data.length, 30);
    const free = await apis.deployment.team("free");
    assert.equal((await historyOf(apis.one, free.session, "?days=30")).days, 7);
  });

  it("keeps yesterday's figures when the day ends, and begins the new one with nothing", async () => {
    const team = await apis.deployment.team("enterprise");
    const answers = await apis.atOnce(team.liveKey, 20, () => newAddress());
    await apis.settledUse(team.id);
    await until("both have told", async () => (await usageOf(apis.two, team.liveKey)).single === 20);
    // Moves the counts of today to yesterday, as at midnight.
    await apis.deployment.sql`update quota_days set day = day - 1 where team_id = ${team.id}`;
    await apis.deployment.sql`update usage_days set day = day - 1 where team_id = ${team.id}`;
    const late = await apis.one.verify(team.liveKey, newAddress());
    const { data } = await historyOf(apis.one, team.liveKey, "?days=2");
    assert.deepEqual(data, [
      { date: dayAgo(0), ...counted([late]) },
      { date: dayAgo(1), ...counted(answers) },
    ]);
  });

  it("takes whole days from 1 to 365 and nothing else, and never fails", async () => {
    const { liveKey } = await apis.deployment.team("enterprise");
    const days = fc.oneof(
      fc.constantFrom("", "0", "-1", "366", "1.5", "1e2", "٣", "7", "365", "%00", "%F0%9F"),
      fc.integer().map(String),
      fc.string({ unit: "binary", maxLength: 8 }).map(encodeURIComponent),
    );
    await fc.assert(
      fc.asyncProperty(days, async (text) => {
        const { status, body } = await apis.one.send("GET", `/v1/usage/history?days=${text}`, {
          key: liveKey,
        });
        const isFine = /^[1-9]\d{0,2}$/.test(text) && Number(text) <= LIMITS.usage.historyDaysMax;
        assert.equal(status, isFine ? 200 : 400, text);
        if (!isFine) v.assert(ContractProblem, body);
      }),
      { numRuns: 60 },
    );
  });
});
