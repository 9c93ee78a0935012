import { after } from "node:test";
import type { Tier } from "../../src/config/tiers.ts";
import { effectiveLimits, type TierLimits } from "../../src/config/tiers.ts";
import type { Actor } from "../../src/features/identity/actor.ts";
import { type Bootstrapped, bootstrap } from "../../src/features/teams/bootstrap.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import { createRedis, type RedisClients } from "../../src/stores/redis.ts";
import { createDatabaseToMigrate, testRedisUrl } from "./embedded.ts";
import { changeLimits } from "./limits.ts";
import { testLog } from "./log.ts";
import { type TcpGate, throughGate } from "./tcp-gate.ts";

/** The log of services in tests; only the search for secrets after the run reads it. */
export const silentLog = testLog;

/** Accepts functions to run at the end: a test's context, or a `Closing` of a file. */
export interface Closer {
  after(close: () => void | Promise<void>): void;
}

/** Closes what a whole file opened; call `close` in its `after` hook. Last opened, first closed. */
export function createClosing(): Closer & { close(): Promise<void> } {
  const closers: (() => void | Promise<void>)[] = [];
  return {
    after(close) {
      closers.unshift(close);
    },
    async close() {
      for (const close of closers) await close();
    },
  };
}

/**
 * Timeout of a statement or command, and of a transaction's wait for its team's. On a loaded machine the service's own bounds
 * run out before a statement of a few milliseconds is run.
 */
const PATIENCE_MS = 30_000;

/** A migrated database for one test, closed and dropped at the end. */
export async function openDatabase(t: Closer): Promise<{ sql: Database; url: string }> {
  const database = await createDatabaseToMigrate();
  changeLimits(t, { postgres: { teamWaitMs: PATIENCE_MS } });
  const sql = createPostgres({
    url: database.url,
    maxConnections: 10,
    applicationName: "rcpt-test",
    statementTimeoutMs: PATIENCE_MS,
  });
  t.after(async () => {
    await sql.end({ timeout: 1 });
    await database.drop();
  });
  await migrate(sql, silentLog);
  return { sql, url: database.url };
}

/** A migrated database for the tests of a file, and `closing` for what else they open. Await it before the first test. */
export async function useDatabase(): Promise<{ sql: Database; url: string; closing: Closer }> {
  const closing = createClosing();
  after(closing.close);
  return { ...(await openDatabase(closing)), closing };
}

/** Redis clients on a logical database of their own, or on that of `url`, with a generous timeout. */
export async function openRedis(t: Closer, url?: string): Promise<RedisClients> {
  return startedRedis(t, url ?? (await testRedisUrl()), PATIENCE_MS);
}

/** Redis clients behind a gate, with the service's timeouts. */
export function openGatedRedis(t: Closer, url: string, gate: TcpGate): Promise<RedisClients> {
  return startedRedis(t, throughGate(url, gate));
}

async function startedRedis(t: Closer, url: string, commandTimeoutMs?: number): Promise<RedisClients> {
  const redis = createRedis({
    ...{ url, name: "rcpt-test", log: silentLog },
    ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
  });
  t.after(() => redis.stop());
  await redis.start();
  return redis;
}

let teams = 0;

/** A new team with its owner and keys. */
export function newTeam(sql: Database, tier: Tier = "free"): Promise<Bootstrapped> {
  teams += 1;
  return bootstrap(sql, { email: `owner${teams}@example.com`, team: `team ${teams}`, tier });
}

/** An actor of the team, as authentication makes it. */
export function actorFor(
  teamId: string,
  overrides: Partial<TierLimits> = {},
  rest: Partial<Actor> = {},
): Actor {
  return {
    teamId,
    userId: null,
    keyId: "key_test",
    isSession: false,
    role: "member",
    livemode: true,
    tier: "free",
    limits: effectiveLimits("free", overrides),
    limitsAsOfMs: 0,
    overlay: { isBlocked: () => false, isDisposable: () => false },
    ...rest,
  };
}

/** The owner of a bootstrapped team, by its live key. */
export async function ownerOf(sql: Database, { teamId, userId }: Bootstrapped): Promise<Actor> {
  const [key] = await sql<[{ id: string }]>`
    select id from api_keys where team_id = ${teamId} and env = 'live' and role = 'owner'`;
  return actorFor(teamId, {}, { userId, role: "owner", keyId: key.id });
}
