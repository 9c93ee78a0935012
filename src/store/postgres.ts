import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { LIMITS } from "../core/limits.ts";

/** 64-bit integers arrive as numbers: every one of ours is a count well below 2^53. */
type Types = { bigint: number };

/** A transaction under way: statements only. (The client's `savepoint` and `prepare` would go past the guard below.) */
export type Transaction = postgres.ISql<Types>;
/** Rejects with what `work` throws, or with the loss of the connection: then nothing is committed. */
type Begin = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
/** The pool. A statement takes one connection for as long as it runs, a transaction for as long as it lasts. */
export type Database = postgres.ISql<Types> & Pick<postgres.Sql<Types>, "end" | "options"> & { begin: Begin };
/** Where a statement may run in a transaction or outside. */
export type Queryable = Database | Transaction;

const INT8_OID = 20;

export interface PostgresOptions {
  url: string;
  maxConnections: number;
  /** Shown in `pg_stat_activity`, e.g. `rcpt-api`. */
  applicationName: string;
  /** The server ends a statement after this long. */
  statementTimeoutMs?: number;
}

/** A connection that we gave up ourselves. */
class PostgresLost extends Error {
  readonly code = "CONNECTION_CLOSED";
}

interface Target {
  host: string[];
  port: number[];
  path: string | false;
}

/**
 * Opens sockets without Nagle's delay, which the client itself does not switch off: a small COPY waits 44 ms
 * otherwise. A socket that is silent for longer than any statement may take is dead, and is destroyed, so that a
 * network that swallows packets cannot hold the pool for the minutes TCP would wait. (Under TLS the client takes our
 * listeners off once the handshake begins; there only the deadlines of the callers are left.)
 */
function socketFactory(silenceMs: number): (target: Target) => Socket {
  let attempt = 0;
  return (target) => {
    const index = attempt++ % target.host.length;
    const host = target.host[index] ?? "localhost";
    const port = target.port[index] ?? 5432;
    const socket = target.path
      ? connect({ path: target.path })
      : connect({ host, port, noDelay: true, keepAlive: true });
    // The client reads `host` for the TLS server name.
    Object.assign(socket, { host, port });
    // A proxy without a server behind it accepts and closes. The client would try again for ever, without a pause,
    // and leave the statement waiting; told of an error, it rejects it.
    socket.once("end", () => {
      if (socket.bytesRead === 0) socket.destroy(new PostgresLost("Postgres closed the connection at once"));
    });
    socket.setTimeout(silenceMs, () => socket.destroy(new PostgresLost("Postgres is silent")));
    return socket;
  };
}

/**
 * The Postgres client. Connects on first use and again after a loss, with a back-off of at most half a second.
 * A statement rejects when the server cannot be reached, or ends it; it is never repeated here.
 */
export function createPostgres(options: PostgresOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? LIMITS.postgres.statementTimeoutMs;
  const { connectTimeoutMs, idleMs, reconnectMaxMs } = LIMITS.postgres;
  const settings = {
    max: options.maxConnections,
    connect_timeout: connectTimeoutMs / 1000,
    idle_timeout: idleMs / 1000,
    backoff: (attempt: number) => Math.min(0.025 * 2 ** attempt, reconnectMaxMs / 1000),
    onnotice: () => undefined,
    // The client asks for the array types of every new connection by a query that nobody awaits: when the server goes
    // just then, its rejection is unhandled and ends the process. Lists travel as JSON instead.
    fetch_types: false,
    connection: {
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      // Every statement of ours is to be quick. Where the planner takes it for costly, compiling it takes longer than it does.
      jit: "off",
    },
    types: {
      bigint: {
        to: INT8_OID,
        from: [INT8_OID],
        serialize: (value: number) => String(value),
        parse: (text: string) => Number(text),
      },
    },
    socket: socketFactory(Math.max(idleMs, statementTimeoutMs) + 5_000),
  };
  return withGuardedTransactions(postgres(options.url, settings));
}

const never = () => new Promise<never>(() => undefined);

/**
 * Of the connection that a statement ran on: neither the server's refusal nor a value that the client could not send,
 * though it hangs the statement onto all three.
 */
const isLoss = (error: unknown) =>
  isOutage(error) && error instanceof Error && "query" in error && !(error instanceof postgres.PostgresError);

/**
 * The client, with a `begin` that sends nothing to a connection which was lost under its transaction. The client's own
 * does: the `rollback` or `commit`, or the next statement. There is no socket any more, which ends the process by an
 * uncaught error, or there is a new one, where a statement would stand outside of any transaction.
 *
 * `begin` rejects by itself as soon as the connection is gone, so the work of a lost one need never come to an end.
 * (Should it be another connection's loss that the work met, the server ends the idle transaction after its timeout.)
 */
function withGuardedTransactions(sql: postgres.Sql<Types>): Database {
  const begin = sql.begin.bind(sql) as Begin;

  const guarded: Begin = (work) => {
    let lost = false;
    const outcome = begin(async (tx) => {
      const guardedTx = new Proxy(tx, {
        apply(target, self, args) {
          if (lost) throw new PostgresLost("the connection of the transaction was lost");
          return Reflect.apply(target, self, args);
        },
      });
      try {
        const value = await work(guardedTx);
        return lost ? never() : value;
      } catch (error) {
        if (lost || isLoss(error)) return never();
        throw error;
      }
    });
    outcome.catch(() => {
      lost = true;
    });
    return outcome;
  };
  return Object.assign(sql, { begin: guarded });
}

/**
 * Connection lost, refused or not to be had (`ECONNREFUSED`; `EAI_AGAIN`, a name server that is away; of Node's own `ERR_…` those of TLS only); a standby, which takes
 * no writes; out of resources; shutting down, cancelled or timed out; deadlock.
 */
const OUTAGE =
  /^(CONNECT(ION)?_[A-Z_]+|E(?!RR_)[A-Z]+|EAI_[A-Z]+|ERR_(SSL|TLS)_[A-Z_\d]+|08...|25006|25P03|40...|53...|55P03|57...)$/;

/** Whether a statement failed for want of Postgres: it may succeed when it is repeated. Else it was wrong. */
export function isOutage(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code !== undefined && OUTAGE.test(code);
}

/**
 * Whether Postgres turned us away for what DATABASE_URL says: user, password, database, TLS or not (class 28, 3D000). It is up
 * then and has read its roles, which a standby shares with its primary: a fail-over does not mend it, and no wait. PgBouncer
 * turns away a start-up parameter that it was not told of in the same words as a server that it cannot reach (08P01).
 */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code, message } = error;
  return /^(28...|3D000)$/.test(code) || (code === "08P01" && /unsupported startup parameter/i.test(message));
}

/** A standby answers as well, and takes no writes. */
class PostgresStandby extends Error {
  readonly code = "25006";
}

/** One line that says that it was Postgres, and why. */
function unusable(error: unknown): Error {
  const { message, code } = error as NodeJS.ErrnoException;
  return new Error(`Postgres cannot be used: ${message || code}`, { cause: error });
}

/**
 * Resolves when Postgres answers and takes writes. For the start of a process: in a fail-over a standby may have the name for
 * a while. Rejects as a statement does with what passes (`isOutage`) and with what Postgres refuses (`isRefusal`); else, as for a
 * certificate that is not trusted, with one line that says that it was Postgres.
 */
export async function askForPrimary(sql: Database): Promise<void> {
  const rows = await sql<[{ standby: boolean }]>`select pg_is_in_recovery() as standby`.catch(
    (error: unknown) => {
      throw isOutage(error) || isRefusal(error) ? error : unusable(error);
    },
  );
  if (rows[0].standby) throw new PostgresStandby("it is a standby that was not promoted yet");
}

/** Resolves when Postgres answers. For readiness. @throws Error one line that says that it was Postgres, and why */
export async function pingPostgres(sql: Database): Promise<void> {
  await sql`select 1`.catch((error: unknown) => {
    throw unusable(error);
  });
}
