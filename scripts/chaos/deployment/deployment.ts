import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Tier, TierLimits } from "../../../src/config/tiers.ts";
import { bootstrap } from "../../../src/features/teams/bootstrap.ts";
import { createLog } from "../../../src/platform/log.ts";
import { migrate } from "../../../src/stores/postgres/migrate.ts";
import { createPostgres, type Database } from "../../../src/stores/postgres/postgres.ts";
import type { ChildRole } from "../../../src/supervisor.ts";
import type { MailWorld } from "../../../test/support/mail-world/world.ts";
import type { Balancer } from "../../balancers/balancer.ts";
import { startHaproxy } from "../../balancers/haproxy.ts";
import type { Guard } from "../../embedded/guard.ts";
import { freePort } from "../../embedded/ports.ts";
import { runsAsRoot } from "../../embedded/reachable.ts";
import { bundle } from "../../image/bundle.ts";
import { auditLeases } from "../verdict/auditing.ts";
import { findClockLibrary } from "./clock-library.ts";
import { Member, type MemberContext } from "./member.ts";
import { createSiteWorld } from "./site-world.ts";
import { type Stores, startStores } from "./stores.ts";

/** Number of processes of each role. */
export type Roles = readonly (readonly [role: ChildRole, count: number])[];
export const ALL_ROLES: Roles = [
  ["api", 2],
  ["bulk", 2],
  ["relay", 2],
];
export const ONE_EACH: Roles = [
  ["api", 1],
  ["bulk", 1],
  ["relay", 1],
];
const POSTGRES_CONNECTIONS = 3;
const TRIAL_TIMEOUT_MS = 10_000;

export interface Team {
  id: string;
  key: string;
}

/** The real service on stores of its own, before a mail world, all on loopback. */
export interface ChaosDeployment {
  world: MailWorld;
  stores: Stores;
  members: readonly Member[];
  sql: Database;
  /** Folder of the run, and that of programs that were unpacked. */
  dir: string;
  cacheDir: string;
  /** The balancer before the API; a string says why there is none. */
  balancer: Balancer | string;
  /** Why clocks cannot be moved; null: they can. */
  noClock: string | null;
  /** How a disk is filled: `own` is a small disk of each worker, `bounded` a limit on the size of its files. */
  disks: "own" | "bounded";
  team(name: string, tier: Tier, limits?: Partial<TierLimits>): Promise<Team>;
  close(): Promise<void>;
}

/** Whether processes can get a tmpfs of their own here. */
async function canMount(): Promise<boolean> {
  if (!runsAsRoot()) return false;
  const script = 'mount -t tmpfs -o size=1m chaos "$0"';
  const args = ["--mount", "--", "sh", "-c", script, tmpdir()];
  return promisify(execFile)("unshare", args, { timeout: TRIAL_TIMEOUT_MS }).then(
    () => true,
    () => false,
  );
}

function settingsOf(stores: Stores, world: MailWorld, logLevel: string): Record<string, string> {
  const { objects, gate } = stores;
  return {
    HOST: "127.0.0.1",
    LOG_LEVEL: logLevel,
    DATABASE_URL: stores.postgres().url,
    REDIS_URL: stores.redis().url,
    S3_ENDPOINT: gate.endpoint,
    S3_REGION: objects.region,
    S3_BUCKET: objects.bucket,
    S3_ACCESS_KEY_ID: objects.accessKeyId,
    S3_SECRET_ACCESS_KEY: objects.secretAccessKey,
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    EGRESS_ID: "chaos",
    PROBE_PRIVATE_ADDRESSES: "true",
    WEBHOOK_PRIVATE_ADDRESSES: "true",
    VERIFY_DEADLINE_MS: "8000",
    CHECK_THREADS: "1",
    SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    // Deferrals last seconds here, so that the run sees their end.
    DEFERRAL_FIRST_S: "3",
    DEFERRAL_MAX_S: "20",
    DEFERRAL_QUEUE_MAX_S: "60",
    BREAKER_FIRST_S: "2",
    SHUTDOWN_GRACE_MS: "15000",
    DRAIN_DELAY_MS: "1500",
  };
}

export interface DeploymentSetting {
  roles: Roles;
  root: string;
  guard: Guard;
  /** Folder for the logs of all processes; null: a folder that is removed with the run. */
  logsDir: string | null;
  /** Whether clocks will be moved: reading the time costs many times as much where they can be. */
  clocks: boolean;
  /** Whether HAProxy is in front of the API. Default true. */
  balanced?: boolean;
  /** Settings in addition to those of every run. */
  settings?: Readonly<Record<string, string>>;
  say(line: string): void;
}

/** Backends of the balancer: the processes of the API. */
export const backendsOf = (members: readonly Member[]) =>
  members
    .filter(({ role }) => role === "api")
    .map(({ name, port }) => ({ name: name.replace("-", ""), host: "127.0.0.1", port }));

async function startMembers(roles: Roles, context: MemberContext): Promise<Member[]> {
  const members: Member[] = [];
  for (const [role, count] of roles)
    for (let n = 0; n < count; n++) members.push(new Member(role, n, await freePort(), context));
  await Promise.all(members.map((member) => member.start()));
  return members;
}

export async function startDeployment(setting: DeploymentSetting): Promise<ChaosDeployment> {
  const { root, guard, logsDir, roles, clocks, balanced = true, settings = {}, say } = setting;
  const dir = mkdtempSync(join(tmpdir(), "rcpt-chaos-"));
  guard.removeAtEnd(dir);
  mkdirSync(join(root, ".rcpt"), { recursive: true });
  const built = mkdtempSync(join(root, ".rcpt/chaos-"));
  guard.removeAtEnd(built);
  const cacheDir = join(root, ".rcpt/cache");
  const [world, stores, clock, ownDisks] = await Promise.all([
    createSiteWorld(),
    startStores({ guard, dir, cacheDir, say }),
    clocks ? findClockLibrary(cacheDir, dir, guard, say) : "none is moved in this run",
    canMount(),
    bundle(root, join(built, "dist")),
  ]);
  const sql = createPostgres({
    url: stores.postgres().url,
    maxConnections: POSTGRES_CONNECTIONS,
    applicationName: "rcpt-chaos",
  });
  await migrate(sql, createLog("warn"));
  await auditLeases(sql);
  // Without fsync a killed process loses no writes: only a crash of the machine would. The disk is shared with others.
  await sql.unsafe("alter system set fsync = off");
  await sql.unsafe("select pg_reload_conf()");
  const context: MemberContext = {
    guard,
    entry: join(built, "dist/src/main.js"),
    dir,
    logsDir: logsDir ?? dir,
    settings: { ...settingsOf(stores, world, logsDir === null ? "error" : "info"), ...settings },
    clock: typeof clock === "string" ? null : clock,
    ownDisks,
  };
  const members = await startMembers(roles, context);
  const before = { guard, say, folder: join(dir, "haproxy"), cacheDir, backends: backendsOf(members) };
  const balancer = balanced
    ? await startHaproxy(before).catch(
        (error: Error) => error.message.split("\n")[0] ?? "it cannot be started",
      )
    : "none is wanted";
  return {
    ...{ world, stores, members, sql, dir, cacheDir, balancer },
    noClock: typeof clock === "string" ? clock : null,
    disks: ownDisks ? "own" : "bounded",
    async team(name, tier, limits = {}) {
      const made = await bootstrap(sql, { email: `${name}@example.com`, team: name, tier });
      await sql`update teams set limits = ${sql.json({ ...limits })} where id = ${made.teamId}`;
      return { id: made.teamId, key: made.liveKey };
    },
    async close() {
      if (typeof balancer !== "string") await balancer.stop();
      await Promise.all(members.map((member) => member.end("SIGTERM")));
      await sql.end({ timeout: 1 });
      await stores.gate.close();
      await world.close();
    },
  };
}
