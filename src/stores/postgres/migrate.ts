import { createHash } from "node:crypto";
import { MIGRATION_LIMITS } from "../../config/limits/migrations.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause, systemClock } from "../../platform/time/clock.ts";
import {
  MigrationError,
  type MigrationLock,
  type MigrationLockLimits,
  withMigrationLock,
} from "./migration-lock.ts";
import { MIGRATIONS, type Migration } from "./migrations/index.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Advisory lock of a step: when the migration lock is lost during a step, the next holder waits for the step's end. */
const STEP_LOCK = 7_227_802;

function checksum(migration: Migration): string {
  return createHash("sha256").update(migration.sql).digest("hex");
}

async function createTable(tx: Transaction): Promise<void> {
  await tx`
    create table if not exists schema_migrations (
      id integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`;
}

/** Applies `migration` unless it is applied. True when this call applied it. */
async function applyOne(tx: Transaction, migration: Migration, lockTimeoutMs: number): Promise<boolean> {
  await tx`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`;
  await tx`select pg_advisory_xact_lock(${STEP_LOCK}::bigint)`;
  const [applied] = await tx<{ checksum: string }[]>`
    select checksum from schema_migrations where id = ${migration.id}`;
  if (applied) {
    if (applied.checksum === checksum(migration)) return false;
    throw new MigrationError(
      `migration ${migration.id} (${migration.name}) was changed after it was applied`,
    );
  }
  await tx.unsafe(migration.sql);
  await tx`
    insert into schema_migrations (id, name, checksum)
    values (${migration.id}, ${migration.name}, ${checksum(migration)})`;
  return true;
}

/** A lock was not granted in time, or caused a deadlock. */
function isLockTrouble(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "55P03" || code === "40P01";
}

export interface MigrationOptions {
  clock: Clock;
  /** Random number from 0 up to 1, for the pauses: migrators of several deployments in one cluster must not run in step. */
  random(): number;
  limits: MigrationLockLimits &
    Pick<
      Record<keyof typeof MIGRATION_LIMITS, number>,
      "lockTimeoutMs" | "pauseMinMs" | "pauseMaxMs" | "patienceMs"
    >;
}

/** Applies steps, and retries them while others hold the locks they need; patience counts for all steps together. */
function createStepper(sql: Database, log: Logger, { clock, random, limits }: MigrationOptions) {
  let giveUpMs = Number.POSITIVE_INFINITY;

  /** @throws MigrationError when no time is left for another attempt */
  async function pauseAfter(migration: Migration, attempt: number, cause: unknown): Promise<void> {
    const nowMs = clock.monotonic();
    giveUpMs = Math.min(giveUpMs, nowMs + limits.patienceMs);
    const pauseMs = limits.pauseMinMs + random() * (limits.pauseMaxMs - limits.pauseMinMs);
    if (nowMs + pauseMs > giveUpMs)
      throw new MigrationError(
        `migration ${migration.id} (${migration.name}) could not lock a table in ${attempt} attempts: look for long transactions in pg_stat_activity, then migrate again`,
        { cause },
      );
    log.warn(
      { migration: migration.id, name: migration.name, attempt, retry_ms: Math.round(pauseMs) },
      "a migration could not lock a table in time: retrying",
    );
    await pause(clock, pauseMs);
  }

  return {
    /** True when this call applied it. */
    async apply(migration: Migration, lock: MigrationLock): Promise<boolean> {
      for (let attempt = 1; ; attempt++) {
        if (!lock.isHeld())
          throw new MigrationError("the connection that held the migration lock was lost: migrate again");
        try {
          return await sql.begin((tx) => applyOne(tx, migration, limits.lockTimeoutMs));
        } catch (error) {
          if (!isLockTrouble(error)) throw error;
          await pauseAfter(migration, attempt, error);
        }
      }
    },
  };
}

/**
 * Brings the schema up to this version, each migration in a transaction of its own. One process migrates at a time; others
 * wait until nothing is left to do. A schema newer than this version is accepted (a rolling deployment runs two versions
 * for a while). A lock on a table in use is awaited only briefly, since other requests for the table would queue behind the
 * migration. It is retried later.
 * @param sql with at least two connections
 * @param migrations in the order of their ids
 * @throws MigrationError when an applied migration differs from the one this version knows, a lock is not granted, or
 *   another process does not finish its migrations
 */
export async function migrate(
  sql: Database,
  log: Logger,
  migrations: readonly Migration[] = MIGRATIONS,
  options: Partial<MigrationOptions> = {},
): Promise<void> {
  const full = { clock: systemClock, random: Math.random, limits: MIGRATION_LIMITS, ...options };
  // With one connection the work would wait for the lock's connection.
  if (sql.options.max < 2) throw new MigrationError("migrating needs two connections to Postgres");
  const stepper = createStepper(sql, log, full);
  const isNeeded = async () => {
    const state = await appliedMigrations(sql, migrations);
    return state === null || state.pending.length > 0 || state.changed.length > 0;
  };
  await withMigrationLock({ sql, log, clock: full.clock, limits: full.limits }, isNeeded, async (lock) => {
    await sql.begin(createTable);
    for (const migration of migrations) {
      const applied = await stepper.apply(migration, lock);
      if (applied) log.info({ migration: migration.id, name: migration.name }, "schema migrated");
    }
  });
}

/** The applied schema, in terms of this version's migrations; each named `12 (bulk)`. */
export interface MigrationState {
  applied: number;
  pending: string[];
  /** Applied by a newer version. */
  unknown: string[];
  /** Applied in another form. */
  changed: string[];
}

/** Read-only. null: this database was never migrated. */
export async function appliedMigrations(
  sql: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationState | null> {
  const [table] = await sql<{ there: boolean }[]>`
    select to_regclass('schema_migrations') is not null as there`;
  if (table?.there !== true) return null;
  const rows = await sql<{ id: number; name: string; checksum: string }[]>`
    select id, name, checksum from schema_migrations order by id`;
  const known = new Map(migrations.map((migration) => [migration.id, migration]));
  const there = new Set(rows.map(({ id }) => id));
  const named = ({ id, name }: { id: number; name: string }) => `${id} (${name})`;
  return {
    applied: rows.length,
    pending: migrations.filter(({ id }) => !there.has(id)).map(named),
    unknown: rows.filter(({ id }) => !known.has(id)).map(named),
    changed: rows
      .filter(({ id, checksum: sum }) => {
        const migration = known.get(id);
        return migration !== undefined && checksum(migration) !== sum;
      })
      .map(named),
  };
}
