import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createLog } from "../../../src/platform/log.ts";
import { migrate } from "../../../src/stores/postgres/migrate.ts";
import { createPostgres } from "../../../src/stores/postgres/postgres.ts";
import { createTestDatabase } from "../../support/embedded.ts";
import { createProcesses, type MainProcess } from "../../support/processes.ts";
import { connect, exchange } from "../../support/raw-http.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Real processes on their way down and up, as balancers and clients that keep connections see them. */
/** Longer than a test takes: it ends when the test is in a hurry. */
const LONG = { DRAIN_DELAY_MS: "200000", SHUTDOWN_GRACE_MS: "400000" };
const CLIENTS = 40;
const closing = createClosing();
const processes = createProcesses();
let deployment: TestDeployment;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
});
after(closing.close);

const start = (role: string, settings: Record<string, string>) =>
  processes.start({ ...deployment.settings, ROLE: role, ...settings });

const portOf = (url: string) => Number(new URL(url).port);

const lineOf = (email: string) => `GET /v1/verify?email=${encodeURIComponent(email)} HTTP/1.1`;

async function readinessOf(url: string): Promise<[status: number, said: unknown]> {
  const response = await fetch(`${url}/readyz`, { headers: { Connection: "close" } });
  return [response.status, ((await response.json()) as { status: unknown }).status];
}

/** Presses Ctrl-C until nothing listens there: what comes close together is one signal. */
function hurry(process: MainProcess, url: string): Promise<boolean> {
  return until("nothing listens any more", async () => {
    process.kill("SIGINT");
    return exchange(portOf(url), ["GET /healthz HTTP/1.1"]).then(
      () => false,
      () => true,
    );
  });
}

async function ledgerOf(teamId: string): Promise<{ used: number; leases: number }> {
  const [row] = await deployment.sql<[{ used: number; leases: number }]>`
    select (select coalesce(sum(used), 0)::int from quota_days where team_id = ${teamId}) as used,
           (select count(*)::int from quota_leases where team_id = ${teamId}) as leases`;
  return row;
}

describe("an API that gets SIGTERM", () => {
  it("says that it drains, serves as ever until that was seen, then finishes what it has", async () => {
    const api = start("api", LONG);
    const [url, metricsUrl] = await Promise.all([api.ready, api.metricsUrl]);
    const port = portOf(url);
    const { id, liveKey } = await deployment.team("enterprise");
    const authorization = `Authorization: Bearer ${liveKey}`;
    const request = `${lineOf("exists@plain.test")}\r\nHost: a\r\n${authorization}\r\n\r\n`;
    const kept = connect(port);
    kept.send(request);
    const before = await kept.reply();
    assert.deepEqual([before.status, before.headers.connection], [200, undefined]);
    assert.deepEqual(await readinessOf(metricsUrl), [200, "ready"]);

    api.kill("SIGTERM");
    await until("balancers are told", async () => (await readinessOf(url))[0] === 503);
    assert.deepEqual(await readinessOf(url), [503, "draining"]);
    assert.deepEqual(await readinessOf(metricsUrl), [503, "draining"]);
    assert.match(await (await fetch(`${metricsUrl}/metrics`)).text(), /^rcpt_ready 0$/m);

    kept.send(request);
    const last = await kept.reply();
    assert.deepEqual([last.status, last.headers.connection], [200, "close"]);
    assert.equal(await kept.closed(), "");
    const asked = Array.from({ length: CLIENTS }, (_, i) =>
      exchange(port, [lineOf(`exists-d${i}@plain.test`), authorization]),
    );
    for (const { status, headers } of await Promise.all(asked))
      assert.deepEqual([status, headers.connection], [200, "close"]);

    // A request behind an answer that closes its connection is neither processed nor charged.
    const pipelining = connect(port);
    pipelining.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n${request}`);
    assert.equal((await pipelining.reply()).status, 200);
    assert.match(await pipelining.closed(), /^HTTP\/1\.1 503 /);

    const host = deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const slow = exchange(port, [lineOf("exists@lockstep.test"), authorization]);
    try {
      await deployment.world.until(() => host.account.held === 1);
      await hurry(api, url);
    } finally {
      host.release();
    }
    assert.deepEqual([(await slow).status, (await slow).json().verdict], [200, "valid"]);
    assert.deepEqual(await api.exited, { code: 0, signal: null });
    assert.deepEqual(await ledgerOf(id), { used: CLIENTS + 3, leases: 0 });
  });
});

describe("a process without an API that gets SIGTERM", () => {
  it("waits for no balancer", async () => {
    for (const role of ["bulk", "relay"]) {
      const process = start(role, LONG);
      assert.deepEqual(await readinessOf(await process.metricsUrl), [200, "ready"]);
      const askedMs = performance.now();
      process.kill("SIGTERM");
      assert.deepEqual(await process.exited, { code: 0, signal: null });
      assert.ok(performance.now() - askedMs < Number(LONG.DRAIN_DELAY_MS));
    }
  });
});

describe("a process that is newer than the schema", () => {
  it("waits, and ends on SIGTERM; serves after the migration", async () => {
    const database = await createTestDatabase();
    const sql = createPostgres({ url: database.url, maxConnections: 2, applicationName: "rcpt-test" });
    try {
      const settings = { ...LONG, DATABASE_URL: database.url };
      const [doomed, waiting] = [start("relay", settings), start("relay", settings)];
      await until("both have looked at the schema", async () => {
        const [row] = await sql<[{ processes: number }]>`
          select count(distinct client_port)::int as processes from pg_stat_activity
          where application_name = 'rcpt-relay' and datname = current_database()
            and query like '%schema_migrations%'`;
        return row.processes === 2;
      });
      doomed.kill("SIGTERM");
      assert.deepEqual(await doomed.exited, { code: 0, signal: null });
      await assert.rejects(doomed.ready);
      await migrate(sql, createLog("silent"));
      assert.deepEqual(await readinessOf(await waiting.metricsUrl), [200, "ready"]);
      waiting.kill("SIGTERM");
      assert.deepEqual(await waiting.exited, { code: 0, signal: null });
    } finally {
      await sql.end({ timeout: 1 });
      await processes.close();
      await database.drop();
    }
  });
});
