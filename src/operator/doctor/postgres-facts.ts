import { randomBytes } from "node:crypto";
import type { Clock } from "../../platform/time/clock.ts";
import { appliedMigrations, type MigrationState } from "../../stores/postgres/migrate.ts";
import { MIGRATIONS } from "../../stores/postgres/migrations/index.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { errorLine } from "./finding.ts";

/** Every query reads one row, or the server's own statistics, never the tables of jobs. */
export interface PostgresFacts {
  /** `170002` */
  version: number;
  encrypted: boolean;
  latencyMs: number;
  /** By how much the server's clock is ahead of ours. */
  skewMs: number;
  readOnly: boolean;
  isStandby: boolean;
  /** True when a pooler is between us and the server. */
  pooled: boolean;
  /** null: a table was created and filled in a transaction, and was gone after it. */
  transactionError: string | null;
  mayCreate: boolean;
  /** Rights that our user lacks on our tables, e.g. `insert on jobs`. Other tables of the schema are ignored. */
  missingRights: string[];
  /** null: nothing was ever migrated here; `denied`: our user may not read which were. */
  migrations: MigrationState | null | "denied";
  connections: ConnectionFacts;
  transactionIdAge: number;
  longTransactions: { who: string; seconds: number }[];
  /** Sessions that wait for a lock of another for longer than half a minute, of those that our user may see. */
  blocked: number;
  bloated: { table: string; dead: number; live: number }[];
}

export interface ConnectionFacts {
  /** Maximum connections, without those reserved for superusers. */
  most: number;
  /** Connections to all databases, the server's own workers included. Only some users may see whose they are. */
  used: number;
  /** Sessions by role, and the least number of processes that they can be of. */
  ours: { role: string; sessions: number; processes: number }[];
}

/** Tables that the migrations create. One that was dropped later, or does not exist yet, is skipped. */
const OUR_TABLES: readonly string[] = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^\s*create table (?:if not exists )?(\w+)/gim)].map(([, name = ""]) => name),
);

const PINGS = 5;
const LONG_TRANSACTION_S = 300;
const BLOCKED_S = 30;
const DEAD_LEAST = 50_000;

async function clockOf(sql: Database, clock: Clock): Promise<{ latencyMs: number; skewMs: number }> {
  let best = { latencyMs: Number.POSITIVE_INFINITY, skewMs: 0 };
  for (let i = 0; i < PINGS; i++) {
    const begun = clock.monotonic();
    const before = clock.now();
    const [row] = await sql<{ now: number }[]>`
      select extract(epoch from clock_timestamp())::float8 * 1000 as now`;
    const latencyMs = clock.monotonic() - begun;
    if (row !== undefined && latencyMs < best.latencyMs)
      best = { latencyMs, skewMs: row.now - before - latencyMs / 2 };
  }
  return best;
}

class RolledBack extends Error {}

/** Makes a table that no other session sees, and rolls it back. @returns the error; null: there was none */
async function tryTransaction(sql: Database): Promise<string | null> {
  const name = `rcpt_doctor_${randomBytes(6).toString("hex")}`;
  try {
    await sql.begin(async (tx) => {
      await tx.unsafe(`create table ${name} (n integer); insert into ${name} values (1)`);
      throw new RolledBack();
    });
    return null;
  } catch (error) {
    return error instanceof RolledBack ? null : errorLine(error);
  }
}

async function rightsOf(sql: Database): Promise<{ mayCreate: boolean; missing: string[] }> {
  const [schema] = await sql<{ may: boolean | null }[]>`
    select has_schema_privilege(current_schema(), 'create') as may`;
  const missing = await sql<{ name: string; want: string }[]>`
    select t.name, w.want
    from unnest(string_to_array(${OUR_TABLES.join(",")}, ',')) t (name)
      cross join (values ('select'), ('insert'), ('update'), ('delete')) w (want)
    where not has_table_privilege(to_regclass(quote_ident(t.name)), w.want)
    order by 1, 2 limit 20`;
  return { mayCreate: schema?.may === true, missing: missing.map(({ name, want }) => `${want} on ${name}`) };
}

async function migrationsOf(sql: Database): Promise<PostgresFacts["migrations"]> {
  const [table] = await sql<{ may: boolean | null }[]>`
    select has_table_privilege(to_regclass('schema_migrations'), 'select') as may`;
  return table?.may === false ? "denied" : appliedMigrations(sql);
}

async function connectionsOf(sql: Database): Promise<ConnectionFacts> {
  const [row] = await sql<{ most: number; used: number }[]>`
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
      (select coalesce(sum(numbackends), 0)::int from pg_stat_database) as used`;
  const ours = await sql<{ role: string; sessions: number; processes: number }[]>`
    select substr(application_name, 6) as role, count(*)::int as sessions,
      count(distinct client_addr)::int as processes
    from pg_stat_activity
    where datname = current_database() and application_name in ('rcpt-api', 'rcpt-bulk', 'rcpt-relay')
    group by 1 order by 1`;
  return { most: row?.most ?? 0, used: row?.used ?? 0, ours: [...ours] };
}

async function troubleOf(sql: Database) {
  const long = await sql<{ who: string; seconds: number }[]>`
    select coalesce(nullif(application_name, ''), usename::text, 'somebody') as who,
      extract(epoch from clock_timestamp() - xact_start)::int as seconds
    from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend'
      and xact_start < clock_timestamp() - make_interval(secs => ${LONG_TRANSACTION_S})
    order by xact_start limit 5`;
  const [blocked] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and state_change < clock_timestamp() - make_interval(secs => ${BLOCKED_S})`;
  const bloated = await sql<{ name: string; dead: number; live: number }[]>`
    select relname as name, n_dead_tup::float8 as dead, n_live_tup::float8 as live
    from pg_stat_user_tables
    where schemaname = current_schema() and n_dead_tup > ${DEAD_LEAST} and n_dead_tup > n_live_tup
    order by n_dead_tup desc limit 5`;
  const [age] = await sql<{ age: number }[]>`
    select age(datfrozenxid)::float8 as age from pg_database where datname = current_database()`;
  return {
    longTransactions: [...long],
    blocked: blocked?.n ?? 0,
    bloated: bloated.map(({ name, dead, live }) => ({ table: name, dead, live })),
    transactionIdAge: age?.age ?? 0,
  };
}

/** Asks the server all of it, one question after the other. Rejects with the first that it does not answer. */
export async function lookAtPostgres(sql: Database, clock: Clock): Promise<PostgresFacts> {
  const server = await sql<
    { version: number; readOnly: boolean; standby: boolean; encrypted: boolean | null; pid: number }[]
  >`
    select current_setting('server_version_num')::int as version,
      current_setting('transaction_read_only') = 'on' as "readOnly",
      pg_is_in_recovery() as standby,
      (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as encrypted,
      pg_backend_pid() as pid`;
  const [about] = server;
  if (about === undefined) throw new Error("Postgres answered with nothing");
  const timing = await clockOf(sql, clock);
  const rights = await rightsOf(sql);
  const migrations = await migrationsOf(sql);
  const connections = await connectionsOf(sql);
  const trouble = await troubleOf(sql);
  return {
    version: about.version,
    encrypted: about.encrypted === true,
    ...timing,
    readOnly: about.readOnly,
    isStandby: about.standby,
    // A pooler tells its clients numbers of its own.
    pooled: server.state.pid !== about.pid,
    mayCreate: rights.mayCreate,
    missingRights: rights.missing,
    migrations,
    connections,
    ...trouble,
    // Last: a pooler that refuses it ends the connection, and a query after it would fail with the same error.
    transactionError: rights.mayCreate && !about.readOnly ? await tryTransaction(sql) : null,
  };
}
