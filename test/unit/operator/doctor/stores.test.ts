import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "../../../../src/config/config.ts";
import type { DoctorFinding } from "../../../../src/operator/doctor/finding.ts";
import { judgeObjects } from "../../../../src/operator/doctor/objects.ts";
import { forgetVersions, type ObjectsFacts } from "../../../../src/operator/doctor/objects-facts.ts";
import { judgePostgres } from "../../../../src/operator/doctor/postgres.ts";
import type { PostgresFacts } from "../../../../src/operator/doctor/postgres-facts.ts";
import { judgeRedis } from "../../../../src/operator/doctor/redis.ts";
import type { RedisFacts, StreamFacts } from "../../../../src/operator/doctor/redis-facts.ts";

/** Findings other than `ok`, as `state check`; every finding to act on must have advice. */
function said(findings: readonly DoctorFinding[]): string[] {
  for (const { state, advice } of findings)
    assert.equal(advice !== "", state === "warn" || state === "fail", "advice where something is to be done");
  return findings
    .filter(({ state }) => state === "warn" || state === "fail")
    .map(({ state, check }) => `${state} ${check}`);
}

const CONFIG = loadConfig({
  DATABASE_URL: "postgres://u:p@db.example.com/rcpt",
  REDIS_URL: "redis://cache",
  S3_BUCKET: "lists",
});

const MIGRATIONS = { applied: 12, pending: [], unknown: [], changed: [] };
const CONNECTIONS = { most: 100, used: 10, ours: [{ role: "api", sessions: 4, processes: 2 }] };
const POSTGRES: PostgresFacts = {
  version: 170_002,
  encrypted: true,
  latencyMs: 0.5,
  skewMs: 3,
  readOnly: false,
  isStandby: false,
  pooled: false,
  transactionError: null,
  mayCreate: true,
  missingRights: [],
  migrations: MIGRATIONS,
  connections: CONNECTIONS,
  transactionIdAge: 1_000,
  longTransactions: [],
  blocked: 0,
  bloated: [],
};

describe("what the doctor says of Postgres", () => {
  const cases: [Partial<PostgresFacts>, string[]][] = [
    [{}, []],
    [{ version: 130_010 }, ["fail version"]],
    [{ version: 140_000 }, []],
    [{ latencyMs: 40 }, ["warn distance"]],
    [{ skewMs: 5_000 }, ["warn clock"]],
    [{ skewMs: -100_000 }, ["fail clock"]],
    [{ encrypted: false }, ["warn encryption"]],
    [{ encrypted: false, pooled: true }, []],
    [{ isStandby: true, readOnly: true }, ["fail writing"]],
    [{ readOnly: true }, ["fail writing"]],
    [{ mayCreate: false }, ["warn rights"]],
    [{ missingRights: ["insert on jobs"] }, ["fail rights"]],
    [{ pooled: true }, []],
    [
      { pooled: true, transactionError: "transaction blocks not allowed in statement pooling mode" },
      ["fail pooler"],
    ],
    [{ pooled: true, transactionError: "write CONNECTION_CLOSED 127.0.0.1:6432" }, ["fail pooler"]],
    [{ transactionError: "write CONNECTION_CLOSED 127.0.0.1:5432" }, ["fail writing"]],
    [{ transactionError: "disk full" }, ["fail writing"]],
    [{ migrations: null }, ["fail migrations"]],
    [{ migrations: "denied" }, ["fail migrations"]],
    [{ migrations: { ...MIGRATIONS, pending: ["13 (next)"] } }, ["fail migrations"]],
    [{ migrations: { ...MIGRATIONS, unknown: ["99 (later)"] } }, ["warn migrations"]],
    [{ migrations: { ...MIGRATIONS, changed: ["3 (feed)"] } }, ["fail migrations"]],
    [{ connections: { ...CONNECTIONS, used: 95 } }, ["fail connections"]],
    [{ connections: { ...CONNECTIONS, used: 85 } }, ["warn connections"]],
    [
      { connections: { ...CONNECTIONS, ours: [{ role: "api", sessions: 9, processes: 9 }] } },
      ["warn connections"],
    ],
    [{ pooled: true, connections: { ...CONNECTIONS, used: 95 } }, []],
    [{ longTransactions: [{ who: "psql", seconds: 900 }] }, ["warn transactions"]],
    [{ blocked: 3 }, ["warn locks"]],
    [{ bloated: [{ table: "job_tasks", dead: 200_000, live: 10 }] }, ["warn dead rows"]],
    [{ transactionIdAge: 1_600_000_000 }, ["fail transaction ids"]],
  ];
  for (const [facts, expected] of cases)
    it(`with ${JSON.stringify(facts)}`, () =>
      assert.deepEqual(said(judgePostgres({ ...POSTGRES, ...facts }, CONFIG)), expected));

  it("behind a pooler nothing is said of an encryption that is not ours", () => {
    for (const encrypted of [true, false]) {
      const found = judgePostgres({ ...POSTGRES, pooled: true, encrypted }, CONFIG);
      const states = found.filter(({ check }) => check === "encryption").map(({ state }) => state);
      assert.deepEqual(states, ["skipped"]);
    }
  });

  for (const [sslmode, expected] of [
    ["require", ["warn encryption"]],
    ["prefer", ["warn encryption"]],
    ["verify-full", []],
  ] as const)
    it(`sslmode=${sslmode} ${expected.length === 0 ? "is in order" : "verifies nothing"}`, () => {
      const config = loadConfig({
        DATABASE_URL: `postgres://u:p@db.example.com/rcpt?sslmode=${sslmode}`,
        REDIS_URL: "redis://cache",
      });
      const found = judgePostgres(POSTGRES, config);
      assert.deepEqual(said(found), expected);
      for (const { check, advice } of found)
        if (check === "encryption" && advice !== "") assert.match(advice, /sslmode=verify-full/);
    });

  it("a connection in clear is fine in our own network", () => {
    const config = loadConfig({ DATABASE_URL: "postgres://u:p@10.0.0.5/rcpt", REDIS_URL: "redis://cache" });
    assert.deepEqual(said(judgePostgres({ ...POSTGRES, encrypted: false }, config)), []);
  });
});

const INFO = {
  redis_version: "7.2.4",
  cluster_enabled: "0",
  role: "master",
  maxmemory: "1000000",
  maxmemory_policy: "volatile-lru",
  used_memory: "500000",
  evicted_keys: "0",
  aof_enabled: "1",
  rdb_last_bgsave_status: "ok",
};
const STREAM: StreamFacts = { name: "tasks", entries: 4, lag: 1, pending: 3, consumers: 2, stuck: 0 };
const REDIS: RedisFacts = {
  info: new Map(Object.entries(INFO)),
  timing: { latencyMs: 0.3, skewMs: 1 },
  refused: [],
  streams: [STREAM],
  deadLetters: 0,
};

describe("what the doctor says of Redis", () => {
  const cases: [
    Partial<Record<keyof typeof INFO | "valkey_version" | "redis_mode" | "server_mode", string>>,
    Partial<RedisFacts>,
    string[],
  ][] = [
    [{}, {}, []],
    [{ redis_version: "6.2.1" }, {}, ["fail version"]],
    [{ redis_version: "7.2.4", valkey_version: "8.1.0" }, {}, []],
    [{ cluster_enabled: "1", redis_mode: "cluster" }, {}, ["fail mode"]],
    [{ redis_mode: "sentinel" }, {}, ["fail mode"]],
    [{ server_mode: "sentinel" }, {}, ["fail mode"]],
    [{ redis_mode: "standalone" }, {}, []],
    [{ role: "slave" }, {}, ["fail mode"]],
    [{ maxmemory_policy: "noeviction" }, {}, ["fail eviction"]],
    [{ maxmemory_policy: "allkeys-lru" }, {}, ["fail eviction"]],
    [{ maxmemory_policy: "volatile-ttl" }, {}, ["warn eviction"]],
    [{ maxmemory: "0" }, {}, ["warn memory"]],
    [{ used_memory: "999999", evicted_keys: "77" }, {}, []],
    [{ aof_enabled: "0" }, {}, []],
    [{ rdb_last_bgsave_status: "err" }, {}, ["fail persistence"]],
    [{}, { timing: { latencyMs: 50, skewMs: 1 } }, ["warn distance"]],
    [{}, { timing: { latencyMs: 0.3, skewMs: 90_000 } }, ["fail clock"]],
    [{}, { timing: null }, []],
    [{}, { streams: null, deadLetters: null }, []],
    [{}, { refused: [{ command: "XCLAIM", why: "NOPERM" }] }, ["fail rights"]],
    [{}, { deadLetters: 2 }, ["warn dead letters"]],
    [{}, { streams: [{ ...STREAM, stuck: 1 }] }, ["warn stream tasks"]],
    [{}, { streams: [{ ...STREAM, entries: null, lag: null }] }, []],
  ];
  for (const [info, facts, expected] of cases)
    it(`with ${JSON.stringify({ ...info, ...facts })}`, () => {
      const all = { ...REDIS, ...facts, info: new Map(Object.entries({ ...INFO, ...info })) };
      assert.deepEqual(said(judgeRedis(all, CONFIG)), expected);
    });

  it("where INFO is refused: which commands we lack, and what is not known", () => {
    const refused = [{ command: "XCLAIM", why: "NOPERM" }];
    const found = judgeRedis({ ...REDIS, info: null, refused }, CONFIG);
    assert.deepEqual(said(found), ["fail rights"]);
    assert.match(found.find(({ check }) => check === "server")?.seen ?? "", /INFO is refused/);
  });
});

const TRIED = [
  { right: "PutObject", error: null, status: null },
  { right: "ListBucketMultipartUploads", error: null, status: null },
];
const OBJECTS: ObjectsFacts = {
  latencyMs: 8,
  skewMs: 400,
  tried: TRIED,
  presigned: { host: "s3.example.com", error: null, status: 200 },
  cors: { origin: "https://rcpt.example.com", allowed: true, status: 200 },
  rules: [],
  versioned: true,
  versionsLeft: 0,
};
const expire = (Days: number, Prefix: string) =>
  ({ Status: "Enabled", Expiration: { Days }, Filter: { Prefix } }) as const;
const TAG = { Key: "temporary", Value: "yes" };

describe("what the doctor says of object storage", () => {
  const cases: [Partial<ObjectsFacts>, string[]][] = [
    [{}, []],
    [{ latencyMs: 300 }, ["warn distance"]],
    [{ skewMs: null }, []],
    [{ skewMs: 2_900 }, []],
    [{ skewMs: 20_000 }, ["warn clock"]],
    [{ tried: [{ right: "DeleteObject", error: "AccessDenied", status: 403 }] }, ["fail rights"]],
    [
      { tried: [{ right: "ListBucketMultipartUploads", error: "NotImplemented", status: 501 }] },
      ["warn rights"],
    ],
    [{ presigned: { host: "s3", error: "ENOTFOUND", status: null } }, ["warn presigned URLs"]],
    [{ presigned: { host: "s3", error: "SignatureDoesNotMatch", status: 403 } }, ["fail presigned URLs"]],
    [{ cors: { origin: "https://rcpt.example.com", allowed: false, status: 403 } }, ["warn CORS"]],
    [{ cors: { origin: "https://rcpt.example.com", allowed: false, status: null } }, []],
    [{ cors: null }, []],
    [{ rules: null, versioned: null }, []],
    [{ rules: [expire(7, "")] }, ["fail lifecycle"]],
    [{ rules: [expire(7, "teams/x/")] }, ["fail lifecycle"]],
    [{ rules: [expire(7, "logs/")] }, []],
    [{ rules: [expire(90, "teams/")] }, []],
    [{ rules: [{ ...expire(7, ""), Filter: { Tag: TAG } }] }, []],
    [{ rules: [{ ...expire(7, ""), Filter: { And: { Prefix: "teams/", Tags: [TAG] } } }] }, []],
    [
      { rules: [{ ...expire(7, ""), Filter: { And: { Prefix: "teams/", ObjectSizeGreaterThan: 5 } } }] },
      ["fail lifecycle"],
    ],
    [{ rules: [{ Status: "Enabled", AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } }] }, []],
  ];
  for (const [facts, expected] of cases)
    it(`with ${JSON.stringify(facts)}`, () =>
      assert.deepEqual(said(judgeObjects({ ...OBJECTS, ...facts }, CONFIG)), expected));

  it("versions of its own probes that it may not delete are reported", () => {
    const seen = (versionsLeft: number) =>
      judgeObjects({ ...OBJECTS, versionsLeft }, CONFIG).find(({ check }) => check === "versions")?.seen ??
      "";
    assert.match(seen(2), /has left some/);
    assert.doesNotMatch(seen(0), /has left/);
  });

  it("versions of its own probes are deleted by their ids, and those counted that are refused", async () => {
    const sent: unknown[] = [];
    const send = async ({ input }: { input: { VersionId?: string } }) => {
      sent.push(input);
      if (input.VersionId === "v2") throw new Error("AccessDenied");
    };
    const client = { send } as unknown as Parameters<typeof forgetVersions>[0];
    const at = { Bucket: "lists", Key: "teams/doctor-1/probe" };
    // Without versions: a bucket without versioning, and one that has stored none so far.
    assert.equal(await forgetVersions(client, at, [undefined, null, "null"]), 0);
    assert.deepEqual(sent, []);
    assert.equal(await forgetVersions(client, at, ["v1", "v2"]), 1);
    assert.deepEqual(sent, [
      { ...at, VersionId: "v1" },
      { ...at, VersionId: "v2" },
    ]);
  });
});
