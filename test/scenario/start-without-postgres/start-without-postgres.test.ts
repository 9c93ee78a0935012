import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { freePort } from "../../../scripts/embedded/ports.ts";
import { EXIT } from "../../../src/platform/exit-codes.ts";
import { isOutage, requirePrimary } from "../../../src/stores/postgres/postgres.ts";
import { type OwnPostgres, startOwnPostgres } from "../../support/own-services.ts";
import { createProcesses, type MainProcess, startAlive } from "../../support/processes.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";

/** Processes that start in a fail-over: they wait, are alive and not ready, and serve once Postgres takes writes again. */
const closing = createClosing();
const processes = createProcesses();
let postgres: OwnPostgres;
let deployment: TestDeployment;
let isUp = true;

before(async () => {
  postgres = await startOwnPostgres();
  closing.after(() => postgres.close());
  deployment = await createDeployment(postgres.url);
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
});
after(closing.close);

async function bringUp(as: "primary" | "standby" = "primary"): Promise<void> {
  if (!isUp) await postgres.start(as);
  isUp = true;
}

async function takeDown(): Promise<void> {
  await postgres.stop("fast");
  isUp = false;
}

beforeEach(() => bringUp());
// The deployment's end drops its database.
after(() => bringUp());

const start = (ROLE: string, settings: Record<string, string> = {}) =>
  processes.start({ ...deployment.settings, CHECK_THREADS: "1", ROLE, ...settings });

const startLiving = (role: string, settings: Record<string, string> = {}) =>
  startAlive((METRICS_PORT) => start(role, { ...settings, METRICS_PORT }));

/** Exit code and output of a process that cannot start. */
async function failure(main: MainProcess): Promise<{ code: number | null; lines: string[] }> {
  const { code } = await main.exited;
  return { code, lines: main.stderr().trimEnd().split("\n") };
}

/** Without object storage, whose client warns of old versions of Node in its own words. */
const BARE = { S3_ENDPOINT: "", S3_BUCKET: "" };

describe("a process that starts while Postgres is away", () => {
  it("waits, alive and not ready, and serves when it is there and takes writes", async () => {
    const { liveKey } = await deployment.team("enterprise");
    await takeDown();
    const all = start("all", BARE);
    const alone = await Promise.all(["api", "bulk", "relay"].map((role) => startLiving(role)));
    for (const starting of alone) assert.equal(await starting.probe("/readyz"), 503);

    await bringUp("standby");
    await assert.rejects(
      () => requirePrimary(deployment.sql),
      (error) => isOutage(error) && /standby/.test(String(error)),
    );
    for (const starting of alone) assert.equal(await starting.probe("/readyz"), 503);

    await deployment.sql`select pg_promote()`;
    for (const { main, probe } of alone) {
      await main.ready;
      assert.equal(await probe("/readyz"), 200);
    }
    const mains = alone.map(({ main }) => main);
    for (const main of [...mains.slice(0, 1), all]) {
      const url = `${await main.ready}/v1/verify?email=exists@plain.test`;
      const { status } = await fetch(url, { headers: { Authorization: `Bearer ${liveKey}` } });
      assert.equal(status, 200);
    }
    for (const main of [...mains, all]) main.kill("SIGTERM");
    for (const main of [...mains, all]) assert.equal((await main.exited).code, EXIT.done);
  });

  it("ends at once and cleanly on SIGTERM, also while an attempt hangs", async () => {
    const gate = await createTcpGate(postgres.url);
    closing.after(() => gate.close());
    gate.stall();
    await takeDown();
    // The grace is far longer than a shutdown takes, so a process that waited for its grace to end would be noticed.
    const patient = { SHUTDOWN_GRACE_MS: "120000" };
    const refused = await startLiving("relay", patient);
    const hanging = await startLiving("api", { ...patient, DATABASE_URL: throughGate(postgres.url, gate) });
    for (const { main } of [refused, hanging]) {
      const toldMs = performance.now();
      main.kill("SIGTERM");
      assert.deepEqual(await main.exited, { code: EXIT.done, signal: null });
      assert.ok(performance.now() - toldMs < 60_000);
    }
  });

  it("ends with a code of its own when its time is over, and names what it waited for", async () => {
    const port = await freePort();
    const settings = {
      ...deployment.settings,
      ...BARE,
      DATABASE_URL: `postgres://rcpt:secret-of-postgres@127.0.0.1:${port}/rcpt`,
      NODE_OPTIONS: "--import=tsx",
    };
    const impatient = join(import.meta.dirname, "impatient.fixture.ts");
    for (const ROLE of ["relay", "all"]) {
      const { code, lines } = await failure(processes.start({ ...settings, ROLE }, impatient));
      assert.deepEqual([code, lines.length], [EXIT.unavailable, 1], lines.join("\n"));
      assert.match(lines[0] ?? "", /^rcpt: Postgres has been away for \d+ s: .*ECONNREFUSED/);
      assert.doesNotMatch(lines[0] ?? "", /secret-of-postgres/);
    }
  });
});

describe("a Postgres that refuses the login", () => {
  const WRONG: [what: string, change: (url: URL) => void, said: RegExp][] = [
    [
      "a wrong password",
      (url) => {
        url.password = "secret-but-wrong";
      },
      /password authentication failed for user/,
    ],
    [
      "a database that does not exist",
      (url) => {
        url.pathname = "/nowhere";
      },
      /database "nowhere" does not exist/,
    ],
  ];
  for (const [what, change, said] of WRONG)
    it(`is not waited for: ${what}`, async () => {
      const url = new URL(postgres.url);
      change(url);
      for (const role of ["relay", "all"]) {
        const { code, lines } = await failure(start(role, { ...BARE, DATABASE_URL: url.href }));
        assert.deepEqual([code, lines.length], [EXIT.misconfigured, 1], lines.join("\n"));
        assert.match(lines[0] ?? "", /^rcpt: DATABASE_URL: Postgres refuses access: /);
        assert.match(lines[0] ?? "", said);
        assert.doesNotMatch(lines[0] ?? "", /secret-but-wrong/);
      }
    });
});
