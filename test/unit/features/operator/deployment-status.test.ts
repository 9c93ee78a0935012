import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deploymentExample } from "../../../../src/api/schemas/deployment.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createReadDeploymentStatus } from "../../../../src/features/operator/deployment-status.ts";
import { egressStatus } from "../../../../src/features/operator/egress-status.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";

/** Only its team matters. */
const ACTOR = { teamId: "team_1" } as Actor;
const { pipeline, ...ofProcess } = deploymentExample;

function reader(operator: boolean | null, countPipeline: () => Promise<NonNullable<typeof pipeline>>) {
  const errors: unknown[] = [];
  const rows = operator === null ? [] : [{ operator }];
  const read = createReadDeploymentStatus({
    sql: (async () => rows) as unknown as Database,
    countPipeline,
    readProcess: () => ofProcess,
    onError: (error) => errors.push(error),
  });
  return { read, errors };
}

describe("the state of the deployment", () => {
  it("is shown to the team that runs it, and to no other", async () => {
    const count = async () => pipeline ?? assert.fail();
    assert.deepEqual(await reader(true, count).read(ACTOR), deploymentExample);
    for (const operator of [false, null])
      await assert.rejects(reader(operator, count).read(ACTOR), { code: "insufficient_role" });
  });

  it("is shown in part where the pipeline cannot be counted", async () => {
    const failure = new Error("Redis does not answer");
    const { read, errors } = reader(true, () => Promise.reject(failure));
    assert.deepEqual(await read(ACTOR), { ...ofProcess, pipeline: null });
    assert.deepEqual(errors, [failure]);
  });
});

describe("the egress", () => {
  it("is shown with its longest open breakers, up to the bound, and counts of all", () => {
    const way = { site: "a.test", path: "direct", domain: "", provider: null };
    const breaker = { way, openForMs: 60_000, dueInMs: -5, reply: "550 no" };
    const many = Array.from({ length: LIMITS.operator.listed + 5 }, () => breaker);
    const report = egressStatus(
      { egress: "e1", selfCheck: { ways: [], pending: ["direct"] }, breakers: many, reduced: [] },
      Date.UTC(2026, 0, 1, 12),
    );
    assert.deepEqual([report.breakers.length, report.breakers_open], [LIMITS.operator.listed, many.length]);
    assert.deepEqual(report.breakers[0], {
      site: "a.test",
      provider: null,
      route: "direct",
      domain: null,
      open_since: "2026-01-01T11:59:00.000Z",
      next_trial_at: "2026-01-01T12:00:00.000Z",
      reply: "550 no",
    });
    assert.deepEqual(
      report.routes.map(({ route, state }) => [route, state]),
      [["direct", "pending"]],
    );
  });
});
