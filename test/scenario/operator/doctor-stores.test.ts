import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { bootstrap } from "../../../src/features/teams/bootstrap.ts";
import { migrate } from "../../../src/stores/postgres/migrate.ts";
import { MIGRATIONS } from "../../../src/stores/postgres/migrations/index.ts";
import type { Database } from "../../../src/stores/postgres/postgres.ts";
import { createDoctor, type Doctor, fails, leftBehind, withDatabase } from "../../support/doctor.ts";
import { createTestDatabase, type TestDatabase, testObjects, testRedisUrl } from "../../support/embedded.ts";
import { testLog } from "../../support/log.ts";
import { type OwnRedis, startOwnRedis } from "../../support/own-services.ts";
import { type FaultyS3, startFaultyS3 } from "../../support/s3-faults.ts";

/** The doctor on stores that have one thing wrong at a time; no process of the service is needed for that. */
const WRONG_PASSWORD = "a-password-that-is-wrong";
const LITTLE_PASSWORD = "a-password-of-little-rights";

let database: TestDatabase;
let settings: Record<string, string> & { DATABASE_URL: string };
let doctor: Doctor;

before(async () => {
  const [made, redisUrl, objects] = await Promise.all([createTestDatabase(), testRedisUrl(), testObjects()]);
  database = made;
  settings = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    S3_ENDPOINT: objects.endpoint,
    S3_REGION: objects.region,
    S3_BUCKET: objects.bucket,
    S3_ACCESS_KEY_ID: objects.accessKeyId,
    S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
  };
  doctor = createDoctor(settings);
});
after(() => database.drop());

/** A user of a database with no rights but those that `work` gives it. */
async function withUser(
  sql: Database,
  database: string,
  work: (role: string, url: string) => Promise<void>,
): Promise<void> {
  const role = `doctor_${randomBytes(6).toString("hex")}`;
  const url = new URL(database);
  url.username = role;
  url.password = LITTLE_PASSWORD;
  await sql.unsafe(`create role ${role} login password '${LITTLE_PASSWORD}'`);
  try {
    await work(role, url.href);
  } finally {
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`);
  }
}

describe("a Postgres that is not as it should be", () => {
  it("refuses a wrong password", async () => {
    const url = new URL(settings.DATABASE_URL);
    url.password = WRONG_PASSWORD;
    const outcome = await doctor.run({ DATABASE_URL: url.href }, "--only", "postgres,deployment,secrets");
    fails(outcome, /^connection: Postgres is unavailable \(password authentication failed/);
  });

  it("lacks a migration, was never migrated, or is newer than this release", () =>
    withDatabase(async (sql, url) => {
      const only = ["--only", "postgres,deployment"];
      fails(await doctor.run({ DATABASE_URL: url }, ...only), /^migrations: There is no schema of ours/);
      await migrate(sql, testLog, MIGRATIONS.slice(0, -1));
      const last = MIGRATIONS.at(-1);
      const pending = await doctor.run({ DATABASE_URL: url }, ...only);
      fails(pending, new RegExp(`^migrations: Not applied yet: ${last?.id} \\(${last?.name}\\)\\.$`));
      assert.match(pending.find("postgres", "migrations")[0]?.advice ?? "", /migrate/);
      await migrate(sql, testLog);
      await sql`insert into schema_migrations (id, name, checksum) values (9999, 'tomorrow', '')`;
      const newer = await doctor.run({ DATABASE_URL: url }, ...only);
      assert.deepEqual(newer.failing, []);
      assert.match(
        newer.find("postgres", "migrations")[0]?.seen ?? "",
        /newer than this release.*9999 \(tomorrow\)/,
      );
    }));

  it("has tasks in hand for long, of a job that has not ended", () =>
    withDatabase(async (sql, url) => {
      await migrate(sql, testLog);
      const { teamId } = await bootstrap(sql, { email: "a@example.com", team: "a", tier: "enterprise" });
      await sql`
        insert into jobs (id, team_id, livemode, status, completed_at, source, source_key, options, daily_quota, bulk_bytes,
          probing, with_evidence, metadata)
        values ('job_1', ${teamId}, true, 'cancelled', now(), '{}', 'k', '{}', 1, 1, false, false, '{}')`;
      await sql`
        insert into job_tasks (job_id, number, kind, state, emitted_at)
        values ('job_1', 0, 'chunk', 'emitted', now() - interval '1 hour')`;
      const only = ["--only", "deployment"];
      const ended = await doctor.run({ DATABASE_URL: url }, ...only);
      assert.equal(ended.find("deployment", "jobs")[0]?.state, "ok");
      await sql`update jobs set status = 'processing', completed_at = null`;
      const running = await doctor.run({ DATABASE_URL: url }, ...only);
      fails(running, /^bulk: No process of the role bulk/);
      assert.match(
        running.find("deployment", "jobs")[0]?.seen ?? "",
        /^1 jobs .* in its stream or with a worker for 60 minutes/,
      );
    }));

  it("grants too little, or takes no writes", () =>
    withDatabase(async (sql, database) => {
      await migrate(sql, testLog);
      await withUser(sql, database, async (role, url) => {
        await sql.unsafe(`grant select on all tables in schema public to ${role}`);
        const little = await doctor.run({ DATABASE_URL: url }, "--only", "postgres");
        fails(little, /^rights: Our user lacks delete on \w+, insert on/);
        assert.match(JSON.stringify(little.groups), /may make no tables/);
        await sql.unsafe(`alter role ${role} set default_transaction_read_only = on`);
        const closed = await doctor.run({ DATABASE_URL: url }, "--only", "postgres");
        fails(closed, /^writing: The server takes no writes/);
      });
    }));

  it("has tables of others, a name with capitals, and a user that may see little", () =>
    withDatabase(async (sql, database) => {
      await migrate(sql, testLog);
      await withUser(sql, database, async (role, url) => {
        await sql.unsafe(`grant usage, create on schema "MyApp" to ${role};
          grant select, insert, update, delete on all tables in schema "MyApp" to ${role};
          revoke insert, update, delete on schema_migrations from ${role};
          create table spatial_ref_sys (n integer)`);
        const serving = await doctor.run({ DATABASE_URL: url }, "--only", "postgres");
        assert.deepEqual(serving.failing, []);
        assert.deepEqual(serving.states("postgres", "rights"), ["ok"]);
        assert.deepEqual(serving.states("postgres", "migrations"), ["ok"]);
        // Its own, and that of another user at least.
        const connections = serving.find("postgres", "connections")[0]?.seen ?? "";
        assert.ok(Number.parseInt(connections, 10) >= 2, connections);
        await sql.unsafe(
          `revoke select on schema_migrations from ${role}; revoke delete on jobs from ${role}`,
        );
        const little = await doctor.run({ DATABASE_URL: url }, "--only", "postgres");
        fails(
          little,
          /^rights: Our user lacks delete on jobs\.$/,
          /^migrations: Our user may not read schema_migrations/,
        );
      });
    }, "MyApp"));

  it("is silent: the group ends in time, the others are reported", async () => {
    const silent = await startSilent();
    try {
      const url = `postgres://u:${WRONG_PASSWORD}@127.0.0.1:${silent.port}/d`;
      const outcome = await doctor.run({ DATABASE_URL: url }, "--only", "postgres,billing", "--timeout", "1");
      fails(outcome, /^time: It did not end within 1 s/);
      assert.equal(outcome.groups.at(-1)?.name, "billing");
    } finally {
      silent.close();
    }
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

  /** A Redis user with all rights that the service uses, except `less`. */
  async function allow(...less: string[]): Promise<URL> {
    const all = ["on", `>${LITTLE_PASSWORD}`, "~rcpt:*", "&rcpt:*", "+@all"];
    await own.client.call("ACL", "SETUSER", "little", "reset", ...all, ...less);
    const url = new URL(own.url);
    url.username = "little";
    url.password = LITTLE_PASSWORD;
    return url;
  }

  it("refuses writes when it is full", async () => {
    await own.client.config("SET", "maxmemory-policy", "noeviction");
    fails(
      await doctor.run({ REDIS_URL: own.url }, "--only", "redis"),
      /^eviction: maxmemory-policy is noeviction/,
    );
    await own.client.config("SET", "maxmemory-policy", "allkeys-lru");
    fails(
      await doctor.run({ REDIS_URL: own.url }, "--only", "redis"),
      /^eviction: maxmemory-policy is allkeys-lru/,
    );
    await own.client.config("SET", "maxmemory-policy", "volatile-lru");
  });

  it("forbids commands, and refuses a wrong password", async () => {
    const url = await allow("-xautoclaim", "-publish");
    fails(
      await doctor.run({ REDIS_URL: url.href }, "--only", "redis"),
      /^rights: Refused: XAUTOCLAIM, PUBLISH \(NOPERM/,
    );
    url.password = WRONG_PASSWORD;
    fails(
      await doctor.run({ REDIS_URL: url.href }, "--only", "redis"),
      /^connection: Redis is unavailable \(WRONGPASS/,
    );
    assert.deepEqual(await own.client.keys("rcpt:doctor:*"), []);
  });

  it("has no INFO, as with some providers: other faults are reported", async () => {
    const url = await allow("-@dangerous", "-@admin", "-publish");
    const quiet = await doctor.run({ REDIS_URL: url.href }, "--only", "redis");
    fails(quiet, /^rights: Refused: PUBLISH \(NOPERM/);
    assert.deepEqual(
      quiet.find("redis", "server").map(({ state }) => state),
      ["skipped"],
    );
    assert.equal(quiet.find("redis", "dead letters")[0]?.state, "ok");
  });

  it("forbids reading streams: other faults are reported", async () => {
    await own.client.xgroup("CREATE", "rcpt:{bulk}:tasks", "workers", "0", "MKSTREAM");
    const url = await allow("-xinfo", "-time", "-publish");
    const blind = await doctor.run({ REDIS_URL: url.href }, "--only", "redis");
    fails(blind, /^rights: Refused: .*XINFO, PUBLISH/);
    for (const check of ["distance", "tasks"])
      assert.deepEqual(
        blind.find("redis", check).map(({ state }) => state),
        ["skipped"],
        check,
      );
  });

  it("has dead letters", async () => {
    await own.client.xadd("rcpt:{bulk}:dead", "*", "job", "job_1", "number", 1, "deliveries", 15);
    const outcome = await doctor.run({ REDIS_URL: own.url }, "--only", "redis");
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
      await doctor.run({ S3_BUCKET: "no-such-bucket" }, "--only", "objects"),
      /There is no bucket no-such-bucket/,
    );
  });

  it("may only be read", async () => {
    refused = (method) => method === "PUT" || method === "POST" || method === "DELETE";
    fails(
      await doctor.run({ S3_ENDPOINT: s3.endpoint }, "--only", "objects"),
      /^rights: PutObject failed/,
      /^rights: PutObject \(in parts\) failed/,
      /^presigned URLs: An upload by a URL of 127\.0\.0\.1:\d+ is refused \(AccessDenied\)/,
    );
  });

  it("does not let us list what is uploaded in parts, which we can do without", async () => {
    refused = (method, url) => method === "GET" && /[?&]uploads/.test(url);
    const outcome = await doctor.run({ S3_ENDPOINT: s3.endpoint }, "--only", "objects");
    assert.deepEqual(outcome.failing, []);
    assert.deepEqual(
      outcome.find("objects", "rights").map(({ state, seen }) => [state, seen.split(" ")[0]]),
      [["warn", "ListBucketMultipartUploads"]],
    );
  });
});

it("nothing was left behind by any of these", async () => assert.deepEqual(await leftBehind(settings), []));

it("no secret was printed", () => doctor.assertDiscreet(WRONG_PASSWORD, LITTLE_PASSWORD));
