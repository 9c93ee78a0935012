import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { SELF_CHECKS } from "../../../src/egress/self-check/report.ts";
import { UNFINISHED } from "../../../src/features/bulk/schedule/job-load.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../src/verification/lists/providers.ts";
import { LIST_RELEASES } from "../../../src/verification/lists/releases.ts";
import { VERDICT_ROWS } from "../../../src/verification/verdict/table.ts";
import { ended, resultLines, submitted } from "../../support/bulk.ts";
import { readMetrics, valueIn } from "../../support/metrics.ts";
import { type OwnRedis, startOwnRedis } from "../../support/own-services.ts";
import { routes } from "../../support/route-table.ts";
import {
  createDeployment,
  type Team,
  type TestApi,
  type TestDeployment,
  type TestRole,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Each role's metrics change with the traffic. */
const closing = createClosing();
const ENOUGH_MS = 120_000;
let deployment: TestDeployment;
let redis: OwnRedis;
let api: TestApi;
let relay: TestRole;
let team: Team;

before(async () => {
  redis = await startOwnRedis();
  closing.after(() => redis.close());
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const settings = { REDIS_URL: redis.url, CHECK_THREADS: "2" };
  [api, relay, team] = await Promise.all([
    deployment.startApi(settings),
    deployment.startRelay(settings),
    deployment.team("enterprise"),
  ]);
});
after(closing.close);

async function value(role: TestRole, name: string, labels?: Record<string, string>): Promise<number> {
  return valueIn(await role.metrics(), name, labels) ?? 0;
}

/** Waits until a series has the value: threads report their counts twice a second, a relay counts every other second. */
function stands(
  role: TestRole,
  name: string,
  labels: Record<string, string>,
  expected: number | null,
): Promise<true> {
  return until(
    `${name} ${JSON.stringify(labels)} is ${expected}`,
    async () => valueIn(await role.metrics(), name, labels) === expected || null,
    ENOUGH_MS,
  );
}

/** Waits until a series has at least the value: a slow machine repeats requests, so it may count more. */
function reaches(role: TestRole, name: string, labels: Record<string, string>, least: number): Promise<true> {
  return until(
    `${name} ${JSON.stringify(labels)} is ${least} or more`,
    async () => (await value(role, name, labels)) >= least || null,
    ENOUGH_MS,
  );
}

const VERIFY = { route: "/v1/verify", method: "GET" };
const OTHER = { provider: "other" };

describe("an API", () => {
  it("says what runs there, and that it is ready", async () => {
    const node = process.versions.node;
    assert.equal(await value(api, "rcpt_build_info", { role: "api", node }), 1);
    assert.equal(await value(api, "rcpt_ready"), 1);
  });

  it("counts each probe, with its cost: transactions, sessions, names, catch-all probes", async () => {
    const probes = 5;
    for (let i = 0; i < probes; i++) await api.verify(team.liveKey, `exists-m${i}@plain.test`);
    await api.verify(team.liveKey, "missing-m@plain.test");
    await reaches(api, "rcpt_probes_total", { ...OTHER, outcome: "accepted" }, probes);
    await reaches(api, "rcpt_probes_total", { ...OTHER, outcome: "mailbox_not_found" }, 1);
    await reaches(api, "rcpt_catch_all_lookups_total", { result: "asked" }, 1);
    const text = await api.metrics();
    const told = (name: string, labels?: Record<string, string>) => valueIn(text, name, labels) ?? 0;
    const transactions = told("rcpt_smtp_transactions_total");
    assert.ok(transactions >= probes + 1, `${transactions} transactions`);
    const timed = told("rcpt_probe_duration_seconds_count", OTHER);
    assert.ok(timed >= probes + 1 && timed <= transactions, `${timed} of ${transactions}`);
    const opened = told("rcpt_smtp_sessions_opened_total");
    assert.ok(opened > 0 && told("rcpt_smtp_sessions_open") <= opened);
    const [groups, writes] = ["groups", "writes"].map((what) => told(`rcpt_smtp_pipeline_${what}_total`));
    assert.ok(groups !== undefined && writes !== undefined);
    assert.ok(writes > 0 && groups >= writes && groups <= transactions, `${groups} in ${writes}`);
    assert.ok(told("rcpt_dns_lookups_total", { result: "answered" }) > 0);
  });

  it("counts greylistings", async () => {
    const { body } = await api.verify(team.liveKey, "greylisted@plain.test");
    assert.equal(body.reason, "greylisted");
    await reaches(api, "rcpt_greylistings_total", OTHER, 1);
  });

  it("counts every request, whatever its path, and its duration", async () => {
    const cached = 4;
    const before = await value(api, "rcpt_http_requests_total", { ...VERIFY, status: "200" });
    for (let i = 0; i < cached; i++) {
      const { body } = await api.verify(team.liveKey, "exists-m0@plain.test");
      assert.equal(body.cached, true);
    }
    await stands(api, "rcpt_http_requests_total", { ...VERIFY, status: "200" }, before + cached);
    await api.get("/v1/nowhere", team.liveKey);
    await stands(api, "rcpt_http_requests_total", { route: "unmatched", status: "404" }, 1);
    await api.get("/v1/verify?email=exists@plain.test", "rcpt_live_wrong");
    await stands(api, "rcpt_http_requests_total", { ...VERIFY, status: "401" }, 1);
    await leave("exists-leaves@lockstep.test", "mx.lockstep.test");
    await stands(api, "rcpt_http_requests_total", { ...VERIFY, status: "499" }, 1);
    const text = await api.metrics();
    for (const { path } of [{ path: "/v1/verify" }, { path: "unmatched" }])
      assert.equal(
        valueIn(text, "rcpt_http_request_duration_seconds_count", { route: path }),
        valueIn(text, "rcpt_http_requests_total", { route: path }),
      );
    assert.equal(valueIn(text, "rcpt_http_requests_in_flight"), 0);
  });
});

/** A client that is gone before its answer is there. */
async function leave(email: string, host: string): Promise<void> {
  const server = deployment.world.host(host);
  server.hold("rcpt");
  try {
    const leaving = new AbortController();
    const headers = { Authorization: `Bearer ${team.liveKey}` };
    const asked = fetch(`${api.url}/v1/verify?email=${email}`, { headers, signal: leaving.signal });
    await stands(api, "rcpt_http_requests_in_flight", {}, 1);
    leaving.abort();
    await assert.rejects(asked, { name: "AbortError" });
  } finally {
    server.release();
  }
  await stands(api, "rcpt_http_requests_in_flight", {}, 0);
}

describe("a job", () => {
  it("is counted by the relay while no worker runs it, and by the worker as it is done", async () => {
    const rows = 30;
    const emails = Array.from({ length: rows }, (_, i) => `exists-bulk${i}@plain.test`);
    const waits = "greylisted-once-bulk@plain.test";
    const job = await submitted(api, team.liveKey, [...emails, waits]);
    const lost = await submitted(api, team.liveKey, ["exists-lost@plain.test"]);
    const { deliveries } = LIMITS.bulk;
    // Started this often, and never finished.
    await deployment.sql`update job_tasks set deliveries = ${deliveries} where job_id = ${lost.id} and number = 0`;
    await stands(relay, "rcpt_chunks_outstanding", {}, 2);
    await stands(relay, "rcpt_stream_lag", { stream: "tasks" }, 2);
    await stands(relay, "rcpt_stream_pending", { stream: "tasks" }, 0);
    await stands(relay, "rcpt_jobs", {}, 2);
    await until("the chunks grow old", async () => (await value(relay, "rcpt_oldest_chunk_age_seconds")) > 0);
    await stands(relay, "rcpt_dead_letters", {}, 0);

    const worker = await deployment.startBulk({
      REDIS_URL: redis.url,
      CHECK_THREADS: "2",
      DEFERRAL_FIRST_S: "1",
      DEFERRAL_MAX_S: "4",
    });
    for (const { id } of [job, lost]) {
      const { status } = await ended(api, team.liveKey, id, ENOUGH_MS);
      assert.equal(status, "completed");
    }
    assert.equal((await resultLines(api, team.liveKey, job.id)).length, rows + 1);
    // A body that is streamed counts when it has ended, and lasted as long as its head took.
    const download = { route: "/v1/bulk-jobs/{id}/results" };
    await reaches(api, "rcpt_http_requests_total", { ...download, status: "200" }, 1);
    await reaches(api, "rcpt_http_request_duration_seconds_count", download, 1);
    await stands(worker, "rcpt_bulk_tasks_total", { kind: "chunk", outcome: "done" }, 1);
    await stands(worker, "rcpt_bulk_tasks_total", { kind: "chunk", outcome: "dead" }, 1);
    await stands(worker, "rcpt_bulk_tasks_total", { kind: "assembly", outcome: "done" }, 2);
    await stands(worker, "rcpt_bulk_rows_total", {}, rows + 2);
    const text = await worker.metrics();
    const retries = valueIn(text, "rcpt_bulk_tasks_total", { kind: "retry", outcome: "done" }) ?? 0;
    assert.ok(retries >= 1);
    assert.ok((valueIn(text, "rcpt_bulk_rows_put_off_total", { reason: "greylisted" }) ?? 0) >= 1);
    assert.ok((valueIn(text, "rcpt_bulk_rows_total", { kind: "retry" }) ?? 0) >= 1);
    assert.equal(valueIn(text, "rcpt_bulk_task_duration_seconds_count", { kind: "retry" }), retries);
    assert.equal(valueIn(text, "rcpt_bulk_places", { lane: "tasks" }), LIMITS.bulk.tasksAtOnce);
    await stands(worker, "rcpt_bulk_places_in_use", {}, 0);
    await reaches(worker, "rcpt_probes_total", { ...OTHER, outcome: "accepted" }, rows + 1);

    await stands(relay, "rcpt_dead_letters", {}, 1);
    for (const name of ["rcpt_chunks_outstanding", "rcpt_oldest_chunk_age_seconds", "rcpt_jobs"])
      await stands(relay, name, {}, 0);
    for (const name of ["rcpt_stream_lag", "rcpt_stream_pending"]) await stands(relay, name, {}, 0);
    const countedS = await value(relay, "rcpt_metrics_counted_timestamp_seconds");
    assert.ok(countedS > 0 && countedS <= Date.now() / 1_000);
    assertClosed(await worker.metrics());
    await worker.stop();
  });
});

describe("a relay that cannot reach Redis", () => {
  it("shows nothing of the streams rather than what was, until it can again", async () => {
    await stands(relay, "rcpt_dependency_up", { dependency: "redis" }, 1);
    await redis.stop();
    await stands(relay, "rcpt_dependency_up", { dependency: "redis" }, 0);
    for (const name of ["rcpt_stream_lag", "rcpt_stream_pending", "rcpt_dead_letters"])
      await stands(relay, name, {}, null);
    assert.equal(await value(relay, "rcpt_dependency_up", { dependency: "postgres" }), 1);
    assertClosed(await relay.metrics());
    await redis.start("lost");
    await stands(relay, "rcpt_dependency_up", { dependency: "redis" }, 1);
    await stands(relay, "rcpt_stream_lag", { stream: "tasks" }, 0);
    await stands(relay, "rcpt_dead_letters", {}, 0);
  });
});

describe("labels", () => {
  it("are of closed sets, and no series holds an address", async () => {
    for (const role of [api, relay]) assertClosed(await role.metrics());
  });
});

const REASONS = new Set(Object.values(VERDICT_ROWS).map(({ reason }) => reason as string));
const KINDS = ["analysis", "chunk", "retry", "assembly"];
const oneOf = (...values: readonly string[]) => new Set(values);

/** Allowed values of each of our labels, whatever the series. */
const CLOSED: Record<string, ReadonlySet<string> | RegExp> = {
  version: /^\d+\.\d+\.\d+$/,
  node: /^\d+\.\d+\.\d+$/,
  role: oneOf("api", "bulk", "relay"),
  route: new Set([...routes.map(({ path }) => path), "unmatched"]),
  method: oneOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"),
  status: /^[1-5]\d\d$/,
  le: /^(?:\+Inf|\d+(?:\.\d+)?)$/,
  verdict: oneOf("valid", "invalid", "risky", "unknown"),
  cached: oneOf("true", "false"),
  reason: new Set([...REASONS, "busy"]),
  provider: new Set([...Object.keys(PROVIDER_MX_SUFFIXES), "other"]),
  outcome: /^(?:[a-z]+(?:_[a-z]+){0,3})$/,
  result:
    /^(?:memory|miss|hit|unknown|failed|granted|refused|asked|answered|absent|settled|superseded|put_off)$/,
  dependency: oneOf("postgres", "redis", "objects", "checks"),
  way: oneOf("direct"),
  check: new Set(SELF_CHECKS),
  habit: oneOf("accepts_all", "refuses_all"),
  kind: new Set(KINDS),
  lane: oneOf("tasks", "whole", "retry"),
  stream: oneOf("tasks", "whole", "retry"),
  list: new Set(Object.keys(LIST_RELEASES)),
  state: new Set([...UNFINISHED, "opened", "reopened", "closed"]),
};

function assertClosed(text: string): void {
  const { samples, helped, typed } = readMetrics(text);
  const ours = samples.filter(({ name }) => name.startsWith("rcpt_"));
  assert.ok(ours.length > 20);
  for (const { name, labels } of ours) {
    const series = helped.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "");
    assert.ok(helped.has(series) && typed.has(series), `${name} has no help, or no type`);
    for (const [label, value] of Object.entries(labels)) {
      const closed = CLOSED[label] ?? assert.fail(`${name}: a label ${label}`);
      const isMember = closed instanceof RegExp ? closed.test(value) : closed.has(value);
      assert.ok(isMember, `${name}: ${label} is ${value}`);
    }
  }
  assert.doesNotMatch(text, /@|\.test\b/);
}
