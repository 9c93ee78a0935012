import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { freePort, withFreePort } from "../../../scripts/embedded/ports.ts";
import { startOf } from "../../../scripts/processes.mjs";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { startLoad, tally } from "../../support/load.ts";
import { answeredOf, useProcesses, verifyAt } from "../../support/process-scenario.ts";
import { childrenWithRole, type Exit, type MainProcess, orPortTaken } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

/** Real processes, killed and stopped in the middle of their work: what the ledger, the clients and the exit codes say. */
const scenario = useProcesses();
const { start } = scenario;
/** Number of requests that a load keeps in flight. */
const LOADERS = 16;

let fresh = 0;
const newAddress = () => `exists-c${fresh++}@plain.test`;

interface Ledger {
  used: number;
  leases: { granted: number; spent: number; tranche: number }[];
}

async function ledgerOf(teamId: string): Promise<Ledger> {
  const leases = await scenario.deployment.sql<Ledger["leases"]>`
    select granted, spent, tranche from quota_leases where team_id = ${teamId}`;
  const [row] = await scenario.deployment.sql<[{ used: number }]>`
    select coalesce(sum(used), 0)::int as used from quota_days where team_id = ${teamId}`;
  return { used: row.used, leases: [...leases] };
}

async function exitOf(process: MainProcess): Promise<Exit> {
  return process.exited;
}

describe("kill -9", () => {
  it("of an api under load costs the team its tranche at most, and never a unit over the limit", async () => {
    const [doomed, survivor] = [start("api"), start("api")];
    const [doomedUrl, survivorUrl] = await Promise.all([doomed.ready, survivor.ready]);
    const limit = 4_000;
    const concurrency = 8;
    const { id, liveKey } = await scenario.deployment.team("enterprise", { dailyQuota: limit });
    let turn = 0;
    const address = () => (turn++ % 2 === 0 ? "exists@plain.test" : newAddress());
    const loads = [doomedUrl, survivorUrl].map((url) =>
      startLoad(concurrency, () => verifyAt(url, liveKey, address())),
    );
    try {
      await until("both have answered some", () => loads.every(({ samples }) => answeredOf(samples) >= 300));
      doomed.kill("SIGKILL");
      assert.equal((await exitOf(doomed)).signal, "SIGKILL");
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
    const answered = loads.reduce((sum, { samples }) => sum + answeredOf(samples), 0);

    // The survivor's leases go back within two seconds, those of the dead one when they expire.
    survivor.kill("SIGTERM");
    assert.equal((await exitOf(survivor)).code, 0);
    const dead = await ledgerOf(id);
    const tranches = dead.leases.reduce((sum, { tranche }) => sum + tranche, 0);
    for (const { tranche } of dead.leases) assert.ok(tranche <= LIMITS.quota.trancheMax);
    // Started now, for it would have settled what expired before that was read.
    const relay = start("relay");
    await until("the relay has settled what expired", async () => (await ledgerOf(id)).leases.length === 0);
    const { used } = await ledgerOf(id);
    assert.ok(used >= answered, `${used} used, ${answered} answered`);
    assert.ok(
      used <= answered + concurrency + tranches,
      `${used} used, ${answered} answered, ${tranches} in tranches`,
    );

    // The rest of the day is still there, to the last unit.
    const heir = start("api");
    const heirUrl = await heir.ready;
    let rest = 0;
    const useUp = async () => {
      const asked = Array.from({ length: 50 }, () => verifyAt(heirUrl, liveKey, "exists@plain.test"));
      const answers = await Promise.all(asked);
      rest += answeredOf(answers);
      return answers.every(({ status }) => status === 429);
    };
    await until("the day is used up", useUp, 120_000);
    assert.equal(used + rest, limit);
    assert.ok(answered + rest <= limit);
    for (const process of [heir, relay]) process.kill("SIGTERM");
    for (const process of [heir, relay]) assert.equal((await exitOf(process)).code, 0);
  });
});

/** Resolves once nothing listens at `url` any more. */
function refuses(url: string): Promise<true> {
  return until("new connections are refused", async () => {
    try {
      await (await fetch(`${url}/healthz`, { headers: { Connection: "close" } })).arrayBuffer();
      return false;
    } catch {
      return true;
    }
  });
}

describe("SIGTERM", () => {
  for (const signals of [["SIGTERM"], ["SIGTERM", "SIGTERM"], ["SIGINT", "SIGTERM"]] as const) {
    it(`${signals.join(", then ")}: whatever was accepted is answered, and the exit code is 0`, async () => {
      const count = 20;
      const api = start("api");
      const url = await api.ready;
      const { id, liveKey } = await scenario.deployment.team("enterprise");
      const host = scenario.deployment.world.host("mx.lockstep.test");
      host.hold("rcpt");
      const asked = Array.from({ length: count }, (_, i) =>
        verifyAt(url, liveKey, `exists-s${fresh}-${i}@lockstep.test`),
      );
      fresh += 1;
      try {
        await until("all are being worked on", async () => {
          const { leases } = await ledgerOf(id);
          return leases.reduce((sum, { spent }) => sum + spent, 0) === count;
        });
        api.kill(signals[0]);
        await refuses(url);
        if (signals[1] !== undefined) api.kill(signals[1]);
      } finally {
        host.release();
      }
      const answers = await Promise.all(asked);
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body.verdict]),
        answers.map(() => [200, "valid"]),
      );
      assert.deepEqual(await exitOf(api), { code: 0, signal: null });
      assert.deepEqual(await ledgerOf(id), { used: count, leases: [] });
    });
  }

  it("under load: no client gets an internal error, and the ledger has what was answered", async () => {
    const api = start("api");
    const url = await api.ready;
    const { id, liveKey } = await scenario.deployment.team("enterprise");
    let turn = 0;
    const load = startLoad(LOADERS, () =>
      verifyAt(url, liveKey, turn++ % 2 === 0 ? "exists@plain.test" : newAddress()),
    );
    try {
      await until("it serves", () => load.samples.length >= 200);
      api.kill("SIGTERM");
      assert.deepEqual(await exitOf(api), { code: 0, signal: null });
    } finally {
      await load.stop();
    }
    const counts = tally(load.samples);
    assert.deepEqual(
      Object.keys(counts).filter((name) => !["200", "null", "503 unavailable"].includes(name)),
      [],
    );
    assert.deepEqual(await ledgerOf(id), { used: counts["200"], leases: [] });
  });

  it("with a check that does not end: ends when the grace is over, with code 0", async () => {
    const api = start("api", { SHUTDOWN_GRACE_MS: "6000", VERIFY_DEADLINE_MS: "120000" });
    const url = await api.ready;
    const { id, liveKey } = await scenario.deployment.team("enterprise");
    const host = scenario.deployment.world.host("mx.lockstep.test");
    host.hold("rcpt");
    const asked = verifyAt(url, liveKey, `exists-never${fresh++}@lockstep.test`).catch(() => null);
    try {
      await until("it is being worked on", async () =>
        (await ledgerOf(id)).leases.some(({ spent }) => spent === 1),
      );
      const askedMs = performance.now();
      api.kill("SIGTERM");
      assert.deepEqual(await exitOf(api), { code: 0, signal: null });
      // The check would have gone on until its deadline.
      assert.ok(performance.now() - askedMs < 100_000);
    } finally {
      host.release();
    }
    await asked;
    assert.deepEqual((await ledgerOf(id)).leases, []);
  });
});

/** Exit code and output of a process that does not start. */
async function failure(settings: Record<string, string>) {
  const process = scenario.startWith(settings);
  const { code } = await exitOf(process);
  return { code, lines: process.stderr().trimEnd().split("\n") };
}

describe("a wrong setting", () => {
  const unreadable = join(tmpdir(), "rcpt-there-is-no-such-file");
  const WRONG: [string, Record<string, string>][] = [
    ["DATABASE_URL", { DATABASE_URL: "" }],
    ["DATABASE_URL", { DATABASE_URL: "mysql://127.0.0.1/rcpt" }],
    ["DATABASE_URL", { DATABASE_URL: "", DATABASE_URL_FILE: unreadable }],
    ["DATABASE_URL", { DATABASE_URL_FILE: unreadable }],
    ["REDIS_URL", { REDIS_URL: "127.0.0.1:6379" }],
    ["ROLE", { ROLE: "worker" }],
    ["HOST", { HOST: "example.com" }],
    ["PORT", { PORT: "65536" }],
    ["PORT", { PORT: "http" }],
    ["METRICS_PORT", { PORT: "18080", METRICS_PORT: "18080" }],
    ["LOG_LEVEL", { LOG_LEVEL: "loud" }],
    ["DNS_SERVERS", { DNS_SERVERS: "dns.example.com" }],
    ["SMTP_PORT", { SMTP_PORT: "2525", PROBE_PRIVATE_ADDRESSES: "false" }],
    ["SMTP_HELO_NAME", { SMTP_HELO_NAME: "not a name" }],
    ["SMTP_MAIL_FROM", { SMTP_MAIL_FROM: "a@b\r\nRCPT TO:<x>" }],
    ["PROBE_PRIVATE_ADDRESSES", { PROBE_PRIVATE_ADDRESSES: "yes" }],
    ["VERIFY_DEADLINE_MS", { VERIFY_DEADLINE_MS: "0" }],
    ["CHECK_THREADS", { CHECK_THREADS: "0" }],
    ["TRUSTED_PROXIES", { TRUSTED_PROXIES: "10.0.0.0/33" }],
    ["CACHE_LIFETIMES", { CACHE_LIFETIMES: "greylist=60" }],
    ["S3_BUCKET", { S3_BUCKET: "" }],
    ["S3_BUCKET", { ROLE: "bulk", S3_BUCKET: "", S3_ENDPOINT: "" }],
    ["S3_SECRET_ACCESS_KEY", { S3_SECRET_ACCESS_KEY: "" }],
    ["RETENTION_DAYS", { RETENTION_DAYS: "0" }],
    ["SHUTDOWN_GRACE_MS", { SHUTDOWN_GRACE_MS: "-1" }],
  ];

  it("stops the process with code 2 and one line that names it", async () => {
    const rows = [...WRONG];
    const wrong: object[] = [];
    const worker = async () => {
      for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
        const [name, settings] = row;
        const { code, lines } = await failure({ ...scenario.deployment.settings, ROLE: "api", ...settings });
        const fine =
          code === 2 && lines.length === 1 && new RegExp(`^rcpt: ${name}(_FILE)?: \\S`).test(lines[0] ?? "");
        if (!fine) wrong.push({ settings, code, lines });
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    assert.deepEqual(wrong, []);
  });
});

describe("a start that cannot succeed", () => {
  /** Without object storage, whose client warns of old versions of Node in its own words. */
  const bare = () => ({ ...scenario.deployment.settings, S3_ENDPOINT: "", S3_BUCKET: "" });
  for (const name of ["PORT", "METRICS_PORT"]) {
    it(`says that the port is in use: ${name}`, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const bound = server.address();
      const port = String(typeof bound === "object" && bound !== null ? bound.port : 0);
      try {
        const { code, lines } = await failure({ ...bare(), ROLE: "api", [name]: port });
        assert.deepEqual([code, lines.length], [1, 1], lines.join("\n"));
        assert.match(lines[0] ?? "", new RegExp(`^rcpt: (?=.*in use).*\\b${port}\\b`));
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    });
  }

  it("starts without Redis all the same, in each role, and serves", async () => {
    const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
    const others = ["bulk", "relay"].map((role) => start(role, { REDIS_URL }));
    const api = start("api", { REDIS_URL });
    const url = await api.ready;
    const { liveKey } = await scenario.deployment.team("enterprise");
    assert.equal((await verifyAt(url, liveKey, newAddress())).status, 200);
    for (const process of [api, ...others]) {
      await process.metricsUrl;
      process.kill("SIGTERM");
      assert.equal((await exitOf(process)).code, 0);
    }
  });

  it("reads a setting from a mounted file, with the newline at its end", async (t) => {
    const file = join(tmpdir(), `rcpt-crash-${process.pid}`);
    t.after(() => rmSync(file, { force: true }));
    writeFileSync(file, `${scenario.deployment.settings.DATABASE_URL}\n`, { mode: 0o600 });
    const api = start("api", { DATABASE_URL: "", DATABASE_URL_FILE: file });
    await api.ready;
    api.kill("SIGTERM");
    assert.equal((await exitOf(api)).code, 0);
  });
});

describe("the supervisor", () => {
  /** The pid of the only living child of the role. */
  const childOf = (supervisor: MainProcess, role: string) =>
    until(`there is one ${role}`, () => {
      const [pid, ...others] = childrenWithRole(supervisor.pid, role);
      return pid !== undefined && others.length === 0 && pid;
    });

  it("restarts a killed api, which serves; killed itself, it leaves no process", async () => {
    const supervisor = await withFreePort(async (port) => {
      const started = start("all", { PORT: String(port) });
      await started.ready.catch(orPortTaken);
      return started;
    });
    const url = await supervisor.ready;
    const { liveKey } = await scenario.deployment.team("enterprise");
    assert.equal((await verifyAt(url, liveKey, newAddress())).status, 200);
    const first = await childOf(supervisor, "api");
    process.kill(first, "SIGKILL");
    await until("it serves again", async () => {
      const answer = await verifyAt(url, liveKey, "exists@plain.test").catch(() => null);
      return answer?.status === 200;
    });
    const second = await childOf(supervisor, "api");
    assert.notEqual(second, first);
    const relay = await childOf(supervisor, "relay");
    supervisor.kill("SIGKILL");
    await exitOf(supervisor);
    await until("its children are gone", () => startOf(second) === null && startOf(relay) === null);
    await refuses(url);
  });

  it("stops all its roles at SIGTERM, with code 0", async () => {
    const supervisor = start("all");
    await supervisor.ready;
    const children = await Promise.all(["api", "bulk", "relay"].map((role) => childOf(supervisor, role)));
    supervisor.kill("SIGTERM");
    assert.deepEqual(await exitOf(supervisor), { code: 0, signal: null });
    for (const pid of children) assert.equal(startOf(pid), null);
  });
});
