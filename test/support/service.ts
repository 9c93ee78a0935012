import { randomUUID } from "node:crypto";
import { composeRole, type ServingRole } from "../../src/app/role.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Tier, TierLimits } from "../../src/config/tiers.ts";
import { bootstrap } from "../../src/features/teams/bootstrap.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import { createDatabaseToMigrate, testObjects, testRedisUrl } from "./embedded.ts";
import { testLog as log, testLogLevel } from "./log.ts";
import { createMailWorld, type MailWorld } from "./mail-world/world.ts";

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed body. */
  body: VerificationResult & Record<string, unknown>;
}

export interface Team {
  id: string;
  ownerId: string;
  ownerEmail: string;
  /** A portal session of the owner. */
  session: string;
  liveKey: string;
  testKey: string;
}

/** An answer; `body` is null where it has none. */
export interface Response<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

export interface SendOptions {
  /** Bearer credential: a key or a session. */
  key?: string;
  /** Sent as JSON; a string or bytes are sent as they are. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** A role as it runs in production. */
export interface TestRole {
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

/** The role `api` as it runs in production, on free ports of loopback. */
export interface TestApi extends TestRole {
  url: string;
  /** The operator's port. */
  metricsUrl: string;
  get(path: string, key?: string): Promise<Answer>;
  /** Any request. `path` with its query. */
  send<T = Record<string, unknown>>(
    method: string,
    path: string,
    options?: SendOptions,
  ): Promise<Response<T>>;
  /** `GET /v1/verify`; `query` is appended unchanged, e.g. `&refresh=true`. */
  verify(key: string, email: string, query?: string): Promise<Answer>;
}

/** The environment of a process of the deployment; ports are free ones of loopback. */
export type Settings = Record<string, string> & { DATABASE_URL: string; REDIS_URL: string };

/** One deployment: a database, a Redis and a bucket of its own, a mail world, and any number of API processes. */
export interface TestDeployment {
  world: MailWorld;
  sql: Database;
  redisUrl: string;
  settings: Settings;
  /** Creates a team as the operator does; `limits` override the tier's. */
  team(tier: Tier, limits?: Partial<TierLimits>): Promise<Team>;
  startApi(settings?: Record<string, string>): Promise<TestApi>;
  /** The role `bulk`; `stop` of the deployment stops it too. */
  startBulk(settings?: Record<string, string>): Promise<TestRole>;
  /** The role `relay`; `stop` of the deployment stops it too. */
  startRelay(settings?: Record<string, string>): Promise<TestRole>;
  stop(): Promise<void>;
}

/** @param postgresUrl PostgreSQL in which to make the database; absent: the test run's */
export async function createDeployment(postgresUrl?: string): Promise<TestDeployment> {
  const [database, redisUrl, world, objects] = await Promise.all([
    createDatabaseToMigrate(postgresUrl),
    testRedisUrl(),
    createMailWorld(),
    testObjects(),
  ]);
  const sql = createPostgres({ url: database.url, maxConnections: 4, applicationName: "rcpt-scenario" });
  await migrate(sql, log);
  const roles = new Set<{ stop(): Promise<void> }>();
  let teams = 0;
  const settings: Settings = {
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    // Messages about breakers and slots reach all databases of the run's Redis: each deployment has an egress of its own.
    EGRESS_ID: randomUUID(),
    LOG_LEVEL: testLogLevel,
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    // On a loaded machine an answer is slow; tests of the deadline shorten it.
    VERIFY_DEADLINE_MS: "30000",
    // Starting a thread takes 0.2 s of CPU. Tests of state that threads share set a higher number.
    CHECK_THREADS: "1",
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    WEBHOOK_PRIVATE_ADDRESSES: "true",
    S3_ENDPOINT: objects.endpoint,
    S3_REGION: objects.region,
    S3_BUCKET: objects.bucket,
    S3_ACCESS_KEY_ID: objects.accessKeyId,
    S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
  };

  async function startBackground(name: "bulk" | "relay", changed: Record<string, string>) {
    const config = loadConfig({ ...settings, ...changed });
    const role = await composeRole({ ...config, role: name }, log);
    await role.lifecycle.start();
    const running = {
      metrics: () => scrape(role),
      async stop() {
        roles.delete(running);
        await role.lifecycle.stop();
      },
    };
    roles.add(running);
    return running;
  }

  return {
    world,
    sql,
    redisUrl,
    settings,
    async team(tier, limits = {}) {
      teams += 1;
      const email = `owner${teams}@example.com`;
      const made = await bootstrap(sql, { email, team: `team ${teams}`, tier });
      await sql`update teams set limits = ${sql.json({ ...limits })} where id = ${made.teamId}`;
      return {
        id: made.teamId,
        ownerId: made.userId,
        ownerEmail: email,
        session: made.sessionToken,
        liveKey: made.liveKey,
        testKey: made.testKey,
      };
    },
    async startApi(changed = {}) {
      const config = loadConfig({ ...settings, ...changed });
      const role = await composeRole({ ...config, role: "api" }, log);
      await role.lifecycle.start();
      const api = apiOf(role, () => roles.delete(api));
      roles.add(api);
      return api;
    },
    startBulk: (changed = {}) => startBackground("bulk", changed),
    startRelay: (changed = {}) => startBackground("relay", changed),
    async stop() {
      await Promise.all([...roles].map((role) => role.stop()));
      await world.close();
      await sql.end({ timeout: 1 });
      await database.drop();
    },
  };
}

async function scrape(role: ServingRole): Promise<string> {
  return (await fetch(`http://127.0.0.1:${role.ports().metricsPort}/metrics`)).text();
}

function apiOf(role: ServingRole, stopped: () => void): TestApi {
  const { port, metricsPort } = role.ports();
  const url = `http://127.0.0.1:${port}`;
  async function get(path: string, key?: string): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` };
    const response = await fetch(url + path, { headers });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Answer["body"],
    };
  }
  async function send<T>(method: string, path: string, options: SendOptions = {}): Promise<Response<T>> {
    const { key, body } = options;
    const isJson = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as string) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? null : JSON.parse(text)) as T,
    };
  }
  return {
    url,
    get,
    send,
    verify: (key, email, query = "") => get(`/v1/verify?email=${encodeURIComponent(email)}${query}`, key),
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    metrics: () => scrape(role),
    async stop() {
      stopped();
      await role.lifecycle.stop();
    },
  };
}
