import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import * as v from "valibot";
import { ContractProblem } from "./contract.ts";
import { changeLimits, waitForPostgres } from "./limits.ts";
import { tally } from "./load.ts";
import { type OwnRedis, startOwnRedis } from "./own-services.ts";
import { limitFields } from "./rate-fields.ts";
import { type Answer, createDeployment, type TestApi, type TestDeployment } from "./service.ts";
import { createClosing } from "./store.ts";
import { createTcpGate, type TcpGate, throughGate } from "./tcp-gate.ts";
import { until } from "./until.ts";

/** Two API processes on one database, with a Redis of their own that can be cut, stalled and emptied. */
export interface TwoApis {
  readonly deployment: TestDeployment;
  readonly one: TestApi;
  readonly two: TestApi;
  /** Sends `count` requests at once, alternating between the processes. */
  atOnce(key: string, count: number, address: (i: number) => string): Promise<Answer[]>;
  /** Units used in the ledger, once every process has returned its unspent lease. */
  settledUse(teamId: string): Promise<number>;
  flushRedis(): Promise<void>;
  /** Names and faults of Redis, each injected before the requests. */
  readonly weather: readonly [string, () => Promise<void> | void][];
}

interface Parts {
  deployment: TestDeployment;
  redis: OwnRedis;
  gate: TcpGate;
  one: TestApi;
  two: TestApi;
}

/**
 * Starts both before the tests of the calling file, waits until they are idle before each, and stops them at the end.
 */
export function useTwoApis(): TwoApis {
  const closing = createClosing();
  let started: Parts | null = null;
  const parts = () => started ?? assert.fail("not started yet");

  before(async () => {
    waitForPostgres(closing);
    // On a busy machine an answer of Redis may be read late, and processes that believe it away limit rates by themselves.
    changeLimits(closing, { redis: { commandTimeoutMs: 2_000 }, rate: { answerMs: 4_000 } });
    const deployment = await createDeployment();
    closing.after(() => deployment.stop());
    const redis = await startOwnRedis();
    closing.after(() => redis.close());
    const gate = await createTcpGate(redis.url);
    closing.after(() => gate.close());
    const settings = { REDIS_URL: throughGate(redis.url, gate), CHECK_THREADS: "2" };
    const [one, two] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
    closing.after(() => Promise.all([one.stop(), two.stop()]).then(() => undefined));
    started = { deployment, redis, gate, one, two };
  });
  after(closing.close);
  beforeEach(() => bringToRest(parts()));

  return {
    get deployment() {
      return parts().deployment;
    },
    get one() {
      return parts().one;
    },
    get two() {
      return parts().two;
    },
    atOnce(key, count, address) {
      const { one, two } = parts();
      const ask = (i: number) => (i % 2 === 0 ? one : two).verify(key, address(i));
      return Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
    },
    settledUse: (teamId) => settledUse(parts().deployment, teamId),
    flushRedis: () => parts().redis.flushAll(),
    weather: [
      ["as usual", () => undefined],
      ["with Redis cut", () => parts().gate.shut()],
      ["with Redis silent", () => parts().gate.stall()],
      ["after FLUSHALL", () => parts().redis.flushAll()],
    ],
  };
}

async function bringToRest({ gate, one, two, deployment, redis }: Parts): Promise<void> {
  gate.open();
  for (const api of [one, two])
    await until("the process is ready", async () => (await api.get("/readyz")).body.status === "ready");
  await Promise.all([one, two].map((api) => sharesAgain(api, deployment, redis)));
}

/** Resolves once a process that had lost Redis uses it again: it reconnects only when asked for something. */
async function sharesAgain(api: TestApi, deployment: TestDeployment, redis: OwnRedis): Promise<void> {
  const { id, testKey } = await deployment.team("enterprise");
  await until("rates are shared", async () => {
    await api.verify(testKey, "valid@example.com");
    return (await redis.client.exists(`rcpt:rate:${id}:test`)) === 1;
  });
}

function settledUse(deployment: TestDeployment, teamId: string): Promise<number> {
  return until("all leases are back", async () => {
    const [row] = await deployment.sql<[{ leases: number; used: number | null }]>`
      select (select count(*) from quota_leases where team_id = ${teamId})::int as leases,
             (select sum(used) from quota_days where team_id = ${teamId})::int as used`;
    return row.leases === 0 && (row.used ?? 0);
  });
}

let fresh = 0;
/** An existing address that no test has asked about. */
export const newAddress = () => `exists-l${fresh++}@plain.test`;

export const outcomes = (answers: Answer[]) =>
  tally(answers.map(({ status, body }) => ({ status, code: (body.code as string | undefined) ?? null })));

export const withStatus = (answers: Answer[], status: number) =>
  answers.filter((answer) => answer.status === status);

/**
 * Asserts that a refusal names the limit and the time to retry, and that nothing is left. A unit may have come back
 * before the answer was written: one that was free of charge, or the bucket's next token (of a fast bucket several).
 */
export function assertRefused(
  answer: Answer,
  limit: "quota" | "rate",
  most = limit === "rate" ? 1 : 0,
): void {
  v.assert(ContractProblem, answer.body);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.code, limit === "quota" ? "quota_exceeded" : "rate_limited");
  const retryAfterS = Number(answer.headers.get("retry-after"));
  assert.ok(Number.isInteger(retryAfterS) && retryAfterS >= 1 && retryAfterS <= 86_400, `${retryAfterS}`);
  const fields = limitFields(answer.headers);
  assert.ok((fields[limit]?.r ?? Infinity) <= most, `${fields[limit]?.r} left`);
}
