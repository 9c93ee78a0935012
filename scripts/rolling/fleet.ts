import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/core/log.ts";
import { bootstrap } from "../../src/services/teams/bootstrap.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createPostgres, type Database } from "../../src/store/postgres.ts";
import { createMailWorld, type MailWorld } from "../../test/support/mail-world/world.ts";
import { bundle } from "../build/bundle.ts";
import type { Guard } from "../embedded/guard.ts";
import { freePort } from "../embedded/ports.ts";
import { SERVICES, startStack } from "../embedded/stack.ts";
import { keptSecretsKey } from "../start/secrets-key.ts";
import { stackSettings } from "../start/settings.ts";
import { type Grounds, Place } from "./place.ts";

/** How many processes of each role, in the order in which they are restarted. */
const ROLES = [
  ["api", 3],
  ["bulk", 2],
  ["relay", 2],
] as const;
export const DRAIN_DELAY_MS = 1_500;
const POSTGRES_CONNECTIONS = 3;
/** Of the team: more than any run asks. */
const RATE_PER_S = 2_000;

export interface RollingTeam {
  id: string;
  key: string;
}

/** What a team was charged, over all days, and what is set aside for it. */
export interface Charges {
  used: number;
  leased: number;
  held: number;
}

/** The built service before a mail world: three APIs, two workers, two relays, on stores of their own, all on loopback. */
export interface Fleet {
  places: readonly Place[];
  /** Folder of the run. */
  dir: string;
  cacheDir: string;
  team(name: string): Promise<RollingTeam>;
  chargesOf(team: RollingTeam): Promise<Charges>;
  /** Ends all processes; resolves to how those ended that did not end with 0. */
  stop(): Promise<string[]>;
  close(): Promise<void>;
}

function settingsOf(world: MailWorld): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    LOG_LEVEL: "info",
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    WEBHOOK_PRIVATE_ADDRESSES: "true",
    VERIFY_DEADLINE_MS: "10000",
    CHECK_THREADS: "1",
    DRAIN_DELAY_MS: String(DRAIN_DELAY_MS),
    SHUTDOWN_GRACE_MS: "25000",
  };
}

async function makePlaces(grounds: Grounds): Promise<Place[]> {
  const places: Place[] = [];
  for (const [role, count] of ROLES)
    for (let n = 1; n <= count; n++) {
      const ports = { port: await freePort(), metricsPort: await freePort() };
      places.push(new Place(role, n, ports, grounds));
    }
  return places;
}

function charges(sql: Database, team: RollingTeam): Promise<Charges> {
  return sql<[Charges]>`
    select (select coalesce(sum(used), 0)::int from quota_days where team_id = ${team.id}) as used,
           (select coalesce(sum(granted), 0)::int from quota_leases where team_id = ${team.id}) as leased,
           (select coalesce(sum(units), 0)::int from quota_holds where team_id = ${team.id}) as held`.then(
    ([row]) => row,
  );
}

export async function startFleet(root: string, guard: Guard, say: (line: string) => void): Promise<Fleet> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-rolling-"));
  chmodSync(dir, 0o711);
  guard.removeAtEnd(dir);
  mkdirSync(join(root, ".rcpt"), { recursive: true });
  const built = mkdtempSync(join(root, ".rcpt/rolling-"));
  guard.removeAtEnd(built);
  const cacheDir = join(root, ".rcpt/cache");
  const stores = join(dir, "stores");
  const [world, stack] = await Promise.all([
    createMailWorld(),
    startStack({ dir: stores, cacheDir, wanted: SERVICES, throwaway: true, guard, say }),
    bundle(root, join(built, "dist")),
  ]);
  const settings = { ...stackSettings(stack), ...keptSecretsKey(dir, {}), ...settingsOf(world) };
  const { DATABASE_URL: url = "" } = stackSettings(stack);
  const sql = createPostgres({ url, maxConnections: POSTGRES_CONNECTIONS, applicationName: "rcpt-rolling" });
  await migrate(sql, createLog("warn"));
  const places = await makePlaces({ guard, entry: join(built, "dist/src/main.js"), logsDir: dir, settings });
  await Promise.all(places.map((place) => place.start()));
  return {
    places,
    dir,
    cacheDir,
    async team(name) {
      const made = await bootstrap(sql, { email: `${name}@example.com`, team: name, tier: "enterprise" });
      const limits = { ratePerS: RATE_PER_S, rateBurst: RATE_PER_S };
      await sql`update teams set limits = ${sql.json(limits)} where id = ${made.teamId}`;
      return { id: made.teamId, key: made.liveKey };
    },
    chargesOf: (team) => charges(sql, team),
    async stop() {
      const exits = await Promise.all(places.map(async (place) => `${place.name}: ${await place.stop()}`));
      return exits.filter((exit) => !exit.endsWith(": exit code 0"));
    },
    async close() {
      await sql.end({ timeout: 1 });
      await world.close();
    },
  };
}
