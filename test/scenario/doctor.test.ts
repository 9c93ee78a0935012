import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { doctorCommand } from "../../src/operator/commands.ts";
import type { Finding } from "../../src/operator/doctor/finding.ts";
import type { GroupReport } from "../../src/operator/doctor.ts";
import { migrate } from "../../src/store/migrate.ts";
import { MIGRATIONS } from "../../src/store/migrations/index.ts";
import { createPostgres } from "../../src/store/postgres.ts";
import { createTestDatabase } from "../support/embedded.ts";
import { testLog } from "../support/log.ts";
import { type OwnRedis, startOwnRedis } from "../support/own-services.ts";
import { type FaultyS3, startFaultyS3 } from "../support/s3-faults.ts";
import { createDeployment, type Settings, type TestDeployment } from "../support/service.ts";
import { until } from "../support/until.ts";

/** A deployment is examined as it is well, then with one thing wrong at a time; nobody's secrets are told meanwhile. */
const GROUPS = [
  ...["configuration", "host", "postgres", "redis", "objects", "secrets"],
  ...["deployment", "dns", "smtp", "mail", "billing", "collectors"],
];
const WRONG_PASSWORD = "a-password-that-is-wrong";
const OTHER_KEY = Buffer.alloc(32, 9).toString("base64");

let deployment: TestDeployment;
let settings: Settings;
/** Everything that was printed by any run. */
let printed = "";

interface Outcome {
  code: number;
  ok: boolean;
  groups: GroupReport[];
  /** What fails, as `check: seen`. */
  failing: string[];
  find(group: string, check: string): Finding[];
}

/** @param changed settings; an empty one is not set */
async function doctor(changed: Record<string, string>, ...argv: string[]): Promise<Outcome> {
  let out = "";
  const code = await doctorCommand({
    argv: ["--json", ...argv],
    env: { ...settings, ...changed },
    stdout: (text) => {
      out += text;
    },
    stderr: assert.fail,
  });
  printed += out;
  const { ok, groups } = JSON.parse(out) as { ok: boolean; groups: GroupReport[] };
  const find = (group: string, check: string) =>
    groups.find(({ name }) => name === group)?.findings.filter((finding) => finding.check === check) ?? [];
  const all = groups.flatMap(({ findings }) => findings);
  const failing = all.filter(({ state }) => state === "fail").map(({ check, seen }) => `${check}: ${seen}`);
  return { code, ok, groups, failing, find };
}

/** That exactly what is said fails. */
function fails({ code, ok, failing }: Outcome, ...expected: RegExp[]): void {
  assert.equal(failing.length, expected.length, failing.join("\n"));
  for (const [i, pattern] of expected.entries()) assert.match(failing[i] ?? "", pattern);
  assert.deepEqual([code, ok], [1, false]);
}

before(async () => {
  deployment = await createDeployment();
  settings = { ...deployment.settings };
  const { dns } = deployment.world;
  for (const [domain, host] of [
    ["gmail.com", "gmail-smtp-in.l.google.com"],
    ["outlook.com", "outlook-com.olc.protection.outlook.com"],
  ] as const) {
    dns.set(domain, { mx: [[5, host]] });
    dns.set(host, { a: [deployment.world.host("mx.multiline.test").address] });
  }
});
after(() => deployment.stop());

describe("a deployment that is well", () => {
  it("is in order, group by group, and nothing is left behind", async () => {
    const api = await deployment.startApi();
    await deployment.startBulk();
    await deployment.startRelay();
    const owner = await deployment.team("enterprise");
    const made = await api.send("POST", "/v1/webhooks", {
      key: owner.liveKey,
      body: { url: `${api.url}/hook` },
    });
    assert.equal(made.status, 201);
    const isTold = async () =>
      (await doctor({}, "--only", "deployment")).find("deployment", "egress")[0]?.state === "ok";
    await until("its processes have told of their ways", isTold, 120_000);
    const outcome = await doctor({});
    assert.deepEqual(outcome.failing, []);
    assert.deepEqual([outcome.code, outcome.ok], [0, true]);
    assert.deepEqual(
      outcome.groups.map(({ name }) => name),
      GROUPS,
    );
    for (const { name, findings } of outcome.groups) assert.notEqual(findings.length, 0, name);
    for (const [group, check] of [
      ["postgres", "migrations"],
      ["postgres", "rights"],
      ["redis", "eviction"],
      ["redis", "rights"],
      ["objects", "rights"],
      ["objects", "presigned URLs"],
      ["secrets", "SECRETS_KEY"],
      ["deployment", "api"],
      ["deployment", "bulk"],
      ["deployment", "relay"],
      ["smtp", "direct: port 25"],
    ] as const)
      assert.deepEqual(
        outcome.find(group, check).map(({ state }) => state),
        ["ok"],
        `${group} ${check}`,
      );
    const tables = await deployment.sql`select from pg_class where relname like 'rcpt_doctor%'`;
    assert.equal(tables.length, 0);
  });

  it("is told in words too", async () => {
    let out = "";
    const stdout = (text: string) => {
      out += text;
    };
    const argv = ["--only", "postgres,billing"];
    assert.equal(await doctorCommand({ argv, env: settings, stdout, stderr: assert.fail }), 0);
    assert.match(out, /^Postgres\n {2}ok {4}version +PostgreSQL \d+\.\d+\.\n/);
    assert.match(out, /\n\nbilling\n {2}- +Stripe/);
    assert.match(out, /\nNothing fails: \d+ in order, \d+ to look at, 0 failing, \d+ skipped\.\n$/);
    printed += out;
  });
});

describe("settings that are wrong", () => {
  it("are all told, with those that look like settings and are none", async () => {
    const wrong = {
      DATABASE_URL: "",
      DATABSE_URL: settings.DATABASE_URL,
      PORT: "http",
      SMTP_HELO_NAME: "",
      SMTP_HELO: "probe.example.com",
      S3_ACCESS_KEY_ID: "",
      SCRATCH_DIR: "/nonexistent/scratch",
    };
    const outcome = await doctor(wrong, "--only", "configuration,host,postgres,secrets");
    fails(
      outcome,
      /^PORT: PORT must be a whole number/,
      /^DATABASE_URL: DATABASE_URL is required/,
      /^S3_ACCESS_KEY_ID: .* is required when its counterpart is set/,
      /^DATABSE_URL: DATABSE_URL is no setting: nobody reads it\. DATABASE_URL is one/,
      /^SMTP_HELO: SMTP_HELO is no setting.* SMTP_HELO_NAME is one/,
      /^scratch directory: \/nonexistent\/scratch cannot be written \(ENOENT/,
    );
    assert.deepEqual(outcome.find("postgres", "database")[0]?.state, "skipped");
  });

  it("end the command of the program with 1, with words on standard output alone", async () => {
    const run = promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "src/main.ts", "doctor", "--only", "configuration"],
      {
        env: {
          PATH: process.env.PATH,
          REDIS_URL: "redis://127.0.0.1:1",
          DATABSE_URL: "postgres://u:pw-of-nobody@h/d",
        },
      },
    );
    const error = (await run.then(
      () => assert.fail("exit 0"),
      (reason) => reason,
    )) as { code: number; stdout: string; stderr: string };
    assert.deepEqual([error.code, error.stderr], [1, ""]);
    assert.match(error.stdout, /FAIL +DATABASE_URL +DATABASE_URL is required\./);
    assert.match(error.stdout, /→ Rename it to DATABASE_URL/);
    assert.doesNotMatch(error.stdout, /pw-of-nobody/);
  });

  it("are no matter where the command is used wrongly", async () => {
    for (const argv of [["--only", "everything"], ["--timeout", "0"], ["--fast"], ["postgres"]]) {
      let said = "";
      const stderr = (text: string) => {
        said += text;
      };
      assert.equal(await doctorCommand({ argv, env: {}, stdout: assert.fail, stderr }), 2);
      assert.match(said, /^doctor: /);
    }
  });
});

describe("a Postgres that is not as it should be", () => {
  it("lets nobody in with a wrong password", async () => {
    const url = new URL(settings.DATABASE_URL);
    url.password = WRONG_PASSWORD;
    const outcome = await doctor({ DATABASE_URL: url.href }, "--only", "postgres,deployment,secrets");
    fails(outcome, /^connection: Postgres cannot be used \(password authentication failed/);
  });

  it("lacks a migration, was never migrated, or is newer than this release", async () => {
    const database = await createTestDatabase();
    const sql = createPostgres({ url: database.url, maxConnections: 2, applicationName: "test" });
    try {
      const only = ["--only", "postgres,deployment"];
      fails(await doctor({ DATABASE_URL: database.url }, ...only), /^migrations: There is no schema of ours/);
      await migrate(sql, testLog, MIGRATIONS.slice(0, -1));
      const last = MIGRATIONS.at(-1);
      const pending = await doctor({ DATABASE_URL: database.url }, ...only);
      fails(pending, new RegExp(`^migrations: Not applied yet: ${last?.id} \\(${last?.name}\\)\\.$`));
      assert.match(pending.find("postgres", "migrations")[0]?.advice ?? "", /migrate/);
      await migrate(sql, testLog);
      await sql`insert into schema_migrations (id, name, checksum) values (9999, 'tomorrow', '')`;
      const newer = await doctor({ DATABASE_URL: database.url }, ...only);
      assert.deepEqual(newer.failing, []);
      assert.match(
        newer.find("postgres", "migrations")[0]?.seen ?? "",
        /newer than this release.*9999 \(tomorrow\)/,
      );
    } finally {
      await sql.end({ timeout: 1 });
      await database.drop();
    }
  });

  it("grants too little, or takes no writes", async () => {
    const role = `doctor_${process.pid}`;
    const url = new URL(settings.DATABASE_URL);
    url.username = role;
    url.password = "a-password-of-little-rights";
    await deployment.sql.unsafe(`create role ${role} login password '${url.password}'`);
    try {
      await deployment.sql.unsafe(`grant select on all tables in schema public to ${role}`);
      const little = await doctor({ DATABASE_URL: url.href }, "--only", "postgres");
      fails(little, /^rights: Our user lacks delete on \w+, insert on/);
      assert.match(JSON.stringify(little.groups), /may make no tables/);
      await deployment.sql.unsafe(`alter role ${role} set default_transaction_read_only = on`);
      const closed = await doctor({ DATABASE_URL: url.href }, "--only", "postgres");
      fails(closed, /^writing: The server takes no writes/);
    } finally {
      await deployment.sql.unsafe(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it("is silent: the group ends in time, the others are told", async () => {
    const silent = await startSilent();
    try {
      const url = `postgres://u:${WRONG_PASSWORD}@127.0.0.1:${silent.port}/d`;
      const outcome = await doctor({ DATABASE_URL: url }, "--only", "postgres,billing", "--timeout", "1");
      fails(outcome, /^time: It did not end within 1 s/);
      assert.equal(outcome.groups.at(-1)?.name, "billing");
    } finally {
      silent.close();
    }
  });

  it("does not open what is stored with another SECRETS_KEY, or with none", async () => {
    fails(await doctor({ SECRETS_KEY: OTHER_KEY }, "--only", "secrets"), /does not open a webhook's secret/);
    fails(
      await doctor({ SECRETS_KEY: "" }, "--only", "secrets"),
      /is not set, and a webhook's secret is stored/,
    );
  });
});

/** Takes connections and says nothing. */
async function startSilent(): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("a Redis that is not as it should be", () => {
  let own: OwnRedis;
  before(async () => {
    own = await startOwnRedis();
  });
  after(() => own.close());

  it("refuses writes when it is full", async () => {
    await own.client.config("SET", "maxmemory-policy", "noeviction");
    fails(
      await doctor({ REDIS_URL: own.url }, "--only", "redis"),
      /^eviction: maxmemory-policy is noeviction/,
    );
    await own.client.config("SET", "maxmemory-policy", "allkeys-lru");
    fails(
      await doctor({ REDIS_URL: own.url }, "--only", "redis"),
      /^eviction: maxmemory-policy is allkeys-lru/,
    );
    await own.client.config("SET", "maxmemory-policy", "volatile-lru");
  });

  it("forbids commands, and lets nobody in with a wrong password", async () => {
    const allowed = [
      "on",
      ">little-rights-password",
      "~rcpt:*",
      "&rcpt:*",
      "+@all",
      "-xautoclaim",
      "-publish",
    ];
    await own.client.call("ACL", "SETUSER", "little", ...allowed);
    const url = new URL(own.url);
    url.username = "little";
    url.password = "little-rights-password";
    fails(
      await doctor({ REDIS_URL: url.href }, "--only", "redis"),
      /^rights: Refused: XAUTOCLAIM, PUBLISH \(NOPERM/,
    );
    url.password = WRONG_PASSWORD;
    fails(
      await doctor({ REDIS_URL: url.href }, "--only", "redis"),
      /^connection: Redis cannot be used \(WRONGPASS/,
    );
    assert.deepEqual(await own.client.keys("rcpt:doctor:*"), []);
  });

  it("has dead letters", async () => {
    await own.client.xadd("rcpt:{bulk}:dead", "*", "job", "job_1", "number", 1, "deliveries", 15);
    const outcome = await doctor({ REDIS_URL: own.url }, "--only", "redis");
    assert.deepEqual(outcome.failing, []);
    assert.equal(outcome.find("redis", "dead letters")[0]?.state, "warn");
  });
});

describe("an object storage that is not as it should be", () => {
  let s3: FaultyS3;
  let refused = (_method: string, _url: string) => false;
  before(async () => {
    s3 = await startFaultyS3(settings.S3_ENDPOINT ?? "", ({ method, url }) =>
      refused(method, url) ? { status: 403, code: "AccessDenied" } : null,
    );
  });
  after(() => s3.close());

  it("has no such bucket", async () => {
    fails(
      await doctor({ S3_BUCKET: "no-such-bucket" }, "--only", "objects"),
      /There is no bucket no-such-bucket/,
    );
  });

  it("may only be read", async () => {
    refused = (method) => method === "PUT" || method === "POST" || method === "DELETE";
    fails(
      await doctor({ S3_ENDPOINT: s3.endpoint }, "--only", "objects"),
      /^rights: PutObject failed/,
      /^rights: PutObject \(in parts\) failed/,
      /^presigned URLs: An upload by a URL of 127\.0\.0\.1:\d+ is refused \(AccessDenied\)/,
    );
  });

  it("does not let us list what is uploaded in parts, which we can do without", async () => {
    refused = (method, url) => method === "GET" && /[?&]uploads/.test(url);
    const outcome = await doctor({ S3_ENDPOINT: s3.endpoint }, "--only", "objects");
    assert.deepEqual(outcome.failing, []);
    assert.deepEqual(
      outcome.find("objects", "rights").map(({ state, seen }) => [state, seen.split(" ")[0]]),
      [["warn", "ListBucketMultipartUploads"]],
    );
  });
});

describe("what was printed", () => {
  it("has no secret in it", () => {
    assert.notEqual(printed, "");
    const secrets = [
      new URL(settings.DATABASE_URL).password,
      settings.S3_SECRET_ACCESS_KEY ?? "",
      settings.SECRETS_KEY ?? "",
      ...[WRONG_PASSWORD, OTHER_KEY, "a-password-of-little-rights", "little-rights-password"],
    ];
    for (const secret of secrets) {
      assert.ok(secret.length > 6);
      assert.ok(!printed.includes(secret), `secret ${secrets.indexOf(secret)} was printed`);
    }
  });
});
