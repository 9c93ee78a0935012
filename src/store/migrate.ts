import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { MIGRATION_LIMITS } from "../core/limits-migrations.ts";
import type { Logger } from "../core/log.ts";
import { MIGRATIONS, type Migration } from "./migrations/index.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Advisory lock of migrating, in the one-key space: no other part of ours uses that. */
const MIGRATION_LOCK = 7_227_801;

/** The schema is not what this version was written for; a person has to look. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

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

/** Applies `migration` unless it is there. True when this call applied it. */
async function applyOne(tx: Transaction, migration: Migration, lockTimeoutMs: number): Promise<boolean> {
  // For another process' migrations one waits longer than for a table.
  await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`;
  await tx`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`;
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

/** A lock was not to be had in time, or who held it waited for one of ours. */
function isLockTrouble(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "55P03" || code === "40P01";
}

/** Applies it, again while others have what it must lock. True when this call applied it. */
async function applyPatiently(
  sql: Database,
  log: Logger,
  migration: Migration,
  limits: MigrationLimits,
): Promise<boolean> {
  const which = { migration: migration.id, name: migration.name };
  for (let attempt = 1; ; attempt++) {
    try {
      return await sql.begin((tx) => applyOne(tx, migration, limits.lockTimeoutMs));
    } catch (error) {
      if (!isLockTrouble(error)) throw error;
      if (attempt >= limits.attempts)
        throw new MigrationError(
          `migration ${migration.id} (${migration.name}) could not lock a table in ${attempt} attempts: look for long transactions in pg_stat_activity, then migrate again`,
          { cause: error },
        );
      log.warn({ ...which, attempt }, "a migration could not lock a table in time; it is tried again");
      await wait(limits.retryMs);
    }
  }
}

type MigrationLimits = Pick<
  Record<keyof typeof MIGRATION_LIMITS, number>,
  "lockTimeoutMs" | "retryMs" | "attempts"
>;

/**
 * Brings the schema up to this version: each migration in a transaction of its own, under a lock, so that any number
 * of processes may start at once. A schema that is ahead of this version is left alone (a rolling deployment runs two
 * versions for a while). A table that is in use is waited for a moment only, since all who want it then wait behind the
 * migration, and tried again later.
 *
 * @param migrations in the order of their ids.
 * @throws MigrationError when an applied migration is not the one this version knows, or a lock is not to be had.
 */
export async function migrate(
  sql: Database,
  log: Logger,
  migrations: readonly Migration[] = MIGRATIONS,
  limits: MigrationLimits = MIGRATION_LIMITS,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`;
    await createTable(tx);
  });
  for (const migration of migrations) {
    const applied = await applyPatiently(sql, log, migration, limits);
    if (applied) log.info({ migration: migration.id, name: migration.name }, "schema migrated");
  }
}

/** What of the schema is there, by this version's migrations; each named `12 (bulk)`. */
export interface MigrationState {
  applied: number;
  pending: string[];
  /** Of a newer version. */
  unknown: string[];
  /** Applied in another form. */
  changed: string[];
}

/** Only looks. null: nothing was ever migrated here. */
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
