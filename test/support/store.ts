import type { Tier } from "../../src/config/tiers.ts";
import { effectiveLimits, type TierLimits } from "../../src/config/tiers.ts";
import type { Actor } from "../../src/features/identity/actor.ts";
import { type Bootstrapped, bootstrap } from "../../src/features/teams/bootstrap.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { createPostgres, type Database } from "../../src/stores/postgres/postgres.ts";
import { createRedis, type RedisClients } from "../../src/stores/redis.ts";
import { createDatabaseToMigrate, testRedisUrl } from "./embedded.ts";
import { testLog } from "./log.ts";

/** What is logged in tests is nobody's to read but the search for secrets after them. */
export const silentLog = testLog;

/** Where to say what is to be closed at the end: a test's context, or a `Closing` of a file. */
interface Closer {
  after(close: () => void | Promise<void>): void;
}

/** What a whole file opened; `close` belongs into its `after` hook. Last opened, first closed. */
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

/** What a statement or command may take: on a loaded machine the service's bounds are over before one of a few milliseconds has had its turn. */
const PATIENCE_MS = 30_000;

/** A migrated database of its own, closed and dropped at the end. */
export async function openDatabase(t: Closer): Promise<{ sql: Database; url: string }> {
  const database = await createDatabaseToMigrate();
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

/** Redis clients on a logical database of their own; or on `url`, and as patient as the service's. */
export async function openRedis(t: Closer, url?: string): Promise<RedisClients> {
  const name = "rcpt-test";
  const redis =
    url === undefined
      ? createRedis({ url: await testRedisUrl(), name, log: silentLog, commandTimeoutMs: PATIENCE_MS })
      : createRedis({ url, name, log: silentLog });
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

/** An actor of the team as authentication would make it. */
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
