import { composeRole, type ServingRole } from "../../src/compose/role.ts";
import { loadConfig } from "../../src/core/config.ts";
import { createLog } from "../../src/core/log.ts";
import type { Tier, TierLimits } from "../../src/core/tiers.ts";
import { bootstrap } from "../../src/services/bootstrap.ts";
import type { VerificationResult } from "../../src/services/verification-result.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createPostgres, type Database } from "../../src/store/postgres.ts";
import { createTestDatabase, testRedisUrl } from "./embedded.ts";
import { createMailWorld, type MailWorld } from "./mail-world/world.ts";

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed body. */
  body: VerificationResult & Record<string, unknown>;
}

export interface Team {
  id: string;
  liveKey: string;
  testKey: string;
}

/** The role `api` as it runs in production, on free ports of loopback. */
export interface TestApi {
  url: string;
  metrics(): Promise<string>;
  get(path: string, key?: string): Promise<Answer>;
  /** `GET /v1/verify`; `query` is appended as it stands, e.g. `&refresh=true`. */
  verify(key: string, email: string, query?: string): Promise<Answer>;
  stop(): Promise<void>;
}

/** The environment of a process of the deployment; ports are free ones of loopback. */
export type Settings = Record<string, string> & { DATABASE_URL: string; REDIS_URL: string };

/** One deployment: a database and a Redis of its own, a mail world, and as many API processes' worth as are started. */
export interface TestDeployment {
  world: MailWorld;
  sql: Database;
  redisUrl: string;
  settings: Settings;
  /** A team as the operator makes one; `limits` override the tier's. */
  team(tier: Tier, limits?: Partial<TierLimits>): Promise<Team>;
  startApi(settings?: Record<string, string>): Promise<TestApi>;
  stop(): Promise<void>;
}

const log = createLog("silent");

export async function createDeployment(): Promise<TestDeployment> {
  const [database, redisUrl, world] = await Promise.all([
    createTestDatabase(),
    testRedisUrl(),
    createMailWorld(),
  ]);
  const sql = createPostgres({ url: database.url, maxConnections: 4, applicationName: "rcpt-scenario" });
  await migrate(sql, log);
  const apis = new Set<TestApi>();
  let teams = 0;
  const settings: Settings = {
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    LOG_LEVEL: "silent",
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    CHECK_THREADS: "2",
  };

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
      return { id: made.teamId, liveKey: made.liveKey, testKey: made.testKey };
    },
    async startApi(changed = {}) {
      const config = loadConfig({ ...settings, ...changed });
      const role = composeRole({ ...config, role: "api" }, log);
      await role.lifecycle.start();
      const api = apiOf(role, () => apis.delete(api));
      apis.add(api);
      return api;
    },
    async stop() {
      await Promise.all([...apis].map((api) => api.stop()));
      await world.close();
      await sql.end({ timeout: 1 });
      await database.drop();
    },
  };
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
  return {
    url,
    get,
    verify: (key, email, query = "") => get(`/v1/verify?email=${encodeURIComponent(email)}${query}`, key),
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    async stop() {
      stopped();
      await role.lifecycle.stop();
    },
  };
}
