import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../src/core/errors.ts";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createBodyBudget } from "../../../../src/services/bulk/body-budget.ts";
import { createResults } from "../../../../src/services/bulk/results.ts";
import type { JobRow } from "../../../../src/store/jobs.ts";
import type { Queryable } from "../../../../src/store/postgres.ts";

const { resultsAtOnce, teamResultsAtOnce, resultsBytes, teamResultsBytes } = LIMITS.bulk;
const overloaded = (error: unknown) => error instanceof AppError && error.code === "overloaded";

describe("the budget of bodies", () => {
  it("bounds those that are made, in total and of a team", () => {
    const budget = createBodyBudget();
    const own = Array.from({ length: teamResultsAtOnce }, () => budget.begin("team_a"));
    assert.throws(() => budget.begin("team_a"), overloaded);
    const others = Array.from({ length: resultsAtOnce - own.length }, (_, i) => budget.begin(`team_${i}`));
    assert.throws(() => budget.begin("team_b"), overloaded);
    for (const lease of [...own, ...others]) lease.release();
    assert.doesNotThrow(() => budget.begin("team_a"));
  });

  it("bounds what is held until it is released, once", () => {
    const budget = createBodyBudget();
    const held = budget.begin("team_a");
    held.made(teamResultsBytes);
    assert.throws(() => budget.begin("team_a"), overloaded);
    const others = Array.from({ length: resultsBytes / teamResultsBytes - 1 }, (_, i) => {
      const lease = budget.begin(`team_${i}`);
      lease.made(teamResultsBytes);
      return lease;
    });
    assert.throws(() => budget.begin("team_b"), overloaded);
    held.release();
    held.release();
    budget.begin("team_b").made(teamResultsBytes);
    assert.throws(() => budget.begin("team_a"), overloaded);
    for (const lease of others) lease.release();
    budget.begin("team_a").release();
  });
});

describe("results", () => {
  const job = { id: "job_1", team_id: "team_a", status: "completed", results_key: "k" } as JobRow;

  it("that no client has taken yet are refused beyond the team's share", async () => {
    const body = Buffer.alloc(teamResultsBytes / 2);
    const objects = { get: async () => body, getRange: async () => body, put: async () => undefined };
    const results = createResults({ sql: null as unknown as Queryable, objects });
    const first = await results.read(job, "csv", null);
    await results.read(job, "csv", null);
    await assert.rejects(results.read(job, "csv", null), overloaded);
    await (await results.read({ ...job, team_id: "team_b" }, "csv", null)).release();
    first.release();
    await results.read(job, "csv", null);
  });

  it("that could not be read hold nothing", async () => {
    const get = () => Promise.reject(new Error("away"));
    const objects = { get, getRange: get, put: async () => undefined };
    const results = createResults({ sql: null as unknown as Queryable, objects });
    for (let i = 0; i <= resultsAtOnce; i++)
      await assert.rejects(results.read(job, "csv", null), { code: "unavailable" });
  });
});
