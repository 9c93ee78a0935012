import type { Config } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { createPostgres, type Database } from "../../stores/postgres/postgres.ts";
import { isLocalHost } from "./configuration.ts";
import {
  type DoctorFinding,
  type DoctorGroup,
  type DoctorSubject,
  type Examination,
  errorLine,
  fail,
  ok,
  percent,
  skipped,
  warn,
} from "./finding.ts";
import { judgeLatency, judgeSkew } from "./judge-distance.ts";
import { lookAtPostgres, type PostgresFacts } from "./postgres-facts.ts";

const VERSION_MIN = 140_000;
/** Postgres stops taking writes at 2^31; its autovacuum starts to hurry at 200 million. */
const TRANSACTION_AGE_MOST = 1_000_000_000;

/** Values of sslmode with which any certificate will do. */
const UNVERIFIED = ["allow", "prefer", "require"];

/** Faults of the database that prevent the service from working, or soon will. Pure. */
export function judgePostgres(facts: PostgresFacts, config: Config): DoctorFinding[] {
  return [
    judgeVersion(facts),
    judgeLatency("distance", facts.latencyMs),
    judgeSkew("clock", "Postgres", facts.skewMs),
    judgeEncryption(facts, config),
    ...judgeWriting(facts),
    ...judgeMigrations(facts),
    judgeConnections(facts, config),
    ...judgeTrouble(facts),
  ];
}

function judgeVersion({ version }: PostgresFacts): DoctorFinding {
  const text = `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}.`;
  return version >= VERSION_MIN
    ? ok("version", text)
    : fail("version", text, "Run PostgreSQL 14 or newer: statements of ours need it.");
}

function judgeEncryption({ encrypted, pooled }: PostgresFacts, { database }: Config): DoctorFinding {
  const check = "encryption";
  const url = URL.canParse(database.url) ? new URL(database.url) : null;
  const host = url?.hostname ?? "";
  // Postgres reports on the pooler's connection with it; ours ends at the pooler.
  if (pooled)
    return skipped(
      check,
      `The pooler's connection with Postgres is ${encrypted ? "TLS" : "in clear"}; ours with the pooler goes by sslmode in DATABASE_URL.`,
    );
  const isVerified = !UNVERIFIED.includes(url?.searchParams.get("sslmode") ?? "");
  if (encrypted && isVerified) return ok(check, "The connection is TLS.");
  const seen = encrypted
    ? "The connection is TLS, and the server's certificate is not verified."
    : "The connection is in clear.";
  if (host === "" || isLocalHost(host)) return ok(check, `${seen} The server is in our own network.`);
  const advice =
    "Set sslmode=verify-full in DATABASE_URL, and NODE_EXTRA_CA_CERTS if a private CA signed the server's certificate.";
  return warn(check, `${seen} The server is ${host}.`, advice);
}

function judgeWriting(facts: PostgresFacts): DoctorFinding[] {
  const check = "rights";
  if (facts.isStandby || facts.readOnly) {
    const what = facts.isStandby ? "is a standby" : "takes no writes";
    const advice = "Let DATABASE_URL lead to the primary (a host list with target_session_attrs=primary).";
    return [fail("writing", `The server ${what}.`, advice)];
  }
  const found: DoctorFinding[] = [];
  if (facts.transactionError !== null) found.push(judgeTransaction(facts.transactionError, facts.pooled));
  if (facts.missingRights.length > 0)
    found.push(
      fail(
        check,
        `Our user lacks ${facts.missingRights.slice(0, 5).join(", ")}.`,
        "Grant select, insert, update, delete on our tables to it (docs/operations.md), or let it own them.",
      ),
    );
  if (!facts.mayCreate)
    found.push(
      warn(
        check,
        "Our user may make no tables: it can serve, and not migrate.",
        "Run `migrate` as a user that may.",
      ),
    );
  if (facts.pooled && facts.transactionError === null)
    found.push(
      ok(
        "pooler",
        "A pooler stands before Postgres. With pool_mode = transaction it must keep prepared statements (max_prepared_statements, PgBouncer 1.21).",
      ),
    );
  if (facts.transactionError === null && facts.missingRights.length === 0 && facts.mayCreate)
    found.push(ok(check, "Our user may read, write and make tables."));
  return found;
}

function judgeTransaction(error: string, pooled: boolean): DoctorFinding {
  // PgBouncer reports it and closes the connection. Usually the client passes on only the closing.
  if (pooled && /statement pooling|CONNECTION_CLOSED/i.test(error))
    return fail(
      "pooler",
      "The pooler ends a connection that begins a transaction: it gives every statement another one (statement pooling).",
      "Set pool_mode = transaction, or session: transactions and their locks cannot work so.",
    );
  return fail("writing", `A transaction that makes a table failed (${error}).`, "See the server's log.");
}

function judgeMigrations({ migrations }: PostgresFacts): DoctorFinding[] {
  const check = "migrations";
  if (migrations === "denied")
    return [
      fail(
        check,
        "Our user may not read schema_migrations: no process of ours starts, and whether a migration is pending is not known.",
        "grant select on schema_migrations to it (docs/operations.md).",
      ),
    ];
  const run = "Run `node dist/src/main.js migrate` (npm start does it by itself).";
  if (migrations === null) return [fail(check, "There is no schema of ours in this database.", run)];
  const { applied, pending, unknown, changed } = migrations;
  const found: DoctorFinding[] = [];
  if (changed.length > 0)
    found.push(
      fail(
        check,
        `Applied in another form than this release knows: ${changed.join(", ")}.`,
        "Find out who changed the schema; nothing repairs that by itself.",
      ),
    );
  if (pending.length > 0) found.push(fail(check, `Not applied yet: ${pending.join(", ")}.`, run));
  if (unknown.length > 0)
    found.push(
      warn(
        check,
        `The schema is newer than this release: it has ${unknown.join(", ")}.`,
        "Fine while a deployment rolls; else run the newer release (docs/upgrades.md).",
      ),
    );
  return found.length > 0 ? found : [ok(check, `All ${applied} are applied.`)];
}

function judgeConnections({ connections, pooled }: PostgresFacts, { database }: Config): DoctorFinding {
  const check = "connections";
  const { most, used, ours } = connections;
  const processes = ours.reduce((sum, role) => sum + Math.max(1, role.processes), 0);
  const wanted = processes * database.maxConnections;
  const seen = `${used} of ${most} connections are in use; at least ${processes} processes of ours may take ${database.maxConnections} each.`;
  if (pooled) return skipped(check, "The pooler decides how many connections there are.");
  if (used > most * 0.9)
    return fail(check, seen, "Raise max_connections, or set a smaller DATABASE_MAX_CONNECTIONS.");
  if (wanted > most * 0.8 || used > most * 0.8)
    return warn(check, seen, "Raise max_connections, or put PgBouncer before it.");
  return ok(check, seen);
}

function judgeTrouble(facts: PostgresFacts): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const [longest] = facts.longTransactions;
  if (longest !== undefined)
    found.push(
      warn(
        "transactions",
        `A transaction of ${longest.who} has been open for ${longest.seconds} s (${facts.longTransactions.length} of those that we may see are): nothing that was deleted since can be cleared away.`,
        "End it: pg_terminate_backend(pid) of pg_stat_activity; set idle_in_transaction_session_timeout.",
      ),
    );
  else found.push(ok("transactions", "None of those that we may see has been open for five minutes."));
  if (facts.blocked > 0)
    found.push(
      warn(
        "locks",
        `${facts.blocked} sessions that we may see have waited for a lock for half a minute.`,
        "See pg_blocking_pids(pid) of pg_stat_activity for who holds it.",
      ),
    );
  else found.push(ok("locks", "None of those that we may see has waited for a lock for long."));
  for (const { table, dead, live } of facts.bloated)
    found.push(
      warn(
        "dead rows",
        `${table} has ${dead} dead rows beside ${live} live ones.`,
        `Vacuum it, and set autovacuum_vacuum_scale_factor = 0.02 on it.`,
      ),
    );
  if (facts.transactionIdAge > TRANSACTION_AGE_MOST)
    found.push(
      fail(
        "transaction ids",
        `${percent(facts.transactionIdAge, 2 ** 31)} of all transaction ids are used up: at the end Postgres stops.`,
        "Run VACUUM (FREEZE) on the oldest tables, and find out what keeps autovacuum from it.",
      ),
    );
  return found;
}

/** A connection of the doctor, closed at the end. Only one, so that the queries are no load. */
export function openDatabase({ config }: DoctorSubject, { atEnd }: Examination): Database {
  const sql = createPostgres({
    url: config.database.url,
    maxConnections: 1,
    applicationName: "rcpt-doctor",
    statementTimeoutMs: LIMITS.postgres.statementTimeoutMs,
  });
  atEnd(() => sql.end({ timeout: 0 }));
  return sql;
}

/** True: DATABASE_URL can be used. Else says why nothing is looked at. */
export function hasDatabase({ diagnosis }: DoctorSubject, { note }: Examination): boolean {
  if (diagnosis.given.has("DATABASE_URL")) return true;
  note(skipped("database", "DATABASE_URL is missing or wrong."));
  return false;
}

export const POSTGRES_GROUP: DoctorGroup = {
  name: "postgres",
  title: "Postgres",
  async examine(subject, examination) {
    if (!hasDatabase(subject, examination)) return;
    const sql = openDatabase(subject, examination);
    try {
      await sql`select 1`;
    } catch (error) {
      const advice =
        "Check host, port, user, password and database in DATABASE_URL, that the server runs, and its pg_hba.conf and firewall.";
      return examination.note(fail("connection", `Postgres is unavailable (${errorLine(error)}).`, advice));
    }
    examination.note(...judgePostgres(await lookAtPostgres(sql, subject.clock), subject.config));
  },
};
