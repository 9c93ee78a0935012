import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { LIMITS } from "../../config/limits/limits.ts";
import { createKeyedMutex } from "./keyed-mutex.ts";

/** 64-bit integers arrive as numbers: every one of ours is a count well below 2^53. */
type Types = { bigint: number };

/** A running transaction: statements only. (The client's `savepoint` and `prepare` would bypass the guard below.) */
export type Transaction = postgres.ISql<Types>;
declare const ofTeam: unique symbol;
/** A transaction that may lock the row of its team. */
export type TeamTransaction = Transaction & { readonly [ofTeam]: true };
interface Begin {
  /** Rejects with what `work` throws, or with the loss of the connection: then nothing is committed. */
  <T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * The same for a transaction that locks the team's row. Those of one team run one at a time in this process: waiting for
   * the row in Postgres, each would hold a connection, and a burst of one team's writes all that the process has. Rejects
   * with an outage (`isOutage`) after a wait of LIMITS.postgres.teamWaitMs.
   * @param team or another key that stands for one team
   */
  <T>(work: (tx: TeamTransaction) => Promise<T>, team: string): Promise<T>;
}
/** The pool. A statement takes one connection for as long as it runs, a transaction for as long as it lasts. */
export type Database = postgres.ISql<Types> & Pick<postgres.Sql<Types>, "end" | "options"> & { begin: Begin };
/** For statements that may run inside or outside a transaction. */
export type Queryable = Database | Transaction;

const INT8_OID = 20;

export interface PostgresOptions {
  url: string;
  maxConnections: number;
  /** Shown in `pg_stat_activity`, e.g. `rcpt-api`. */
  applicationName: string;
  /** The server ends a statement after this time. */
  statementTimeoutMs?: number;
}

/** A connection that we closed ourselves. */
class PostgresLost extends Error {
  readonly code = "CONNECTION_CLOSED";
}

interface Target {
  host: string[];
  port: number[];
  path: string | false;
}

/**
 * Opens sockets without Nagle's delay, which the client does not switch off itself: a small COPY otherwise waits 44 ms. A
 * socket that is silent for longer than any statement may take is dead and is destroyed. Otherwise a network that drops
 * packets would hold the pool for TCP's minutes. (Under TLS the client removes our listeners when the handshake starts;
 * there only the callers' deadlines are left.)
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
    // A proxy without a server behind it accepts and closes. Without an error the client would retry for ever, without a
    // pause, and leave the statement waiting; with one it rejects the statement.
    socket.once("end", () => {
      if (socket.bytesRead === 0) socket.destroy(new PostgresLost("Postgres closed the connection at once"));
    });
    socket.setTimeout(silenceMs, () => socket.destroy(new PostgresLost("Postgres is silent")));
    return socket;
  };
}

/**
 * The Postgres client. Connects on first use and again after a loss, with a back-off of at most half a second. A statement
 * rejects when the server is unreachable or ends it; it is never repeated here.
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
    // The client queries the array types of every new connection without awaiting the result. If the server disconnects
    // during that, the unhandled rejection ends the process. Lists travel as JSON instead.
    fetch_types: false,
    connection: {
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      // All our statements are quick. If the planner estimates a high cost, compiling the statement takes longer than
      // running it.
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

/** True for a lost connection only. The client attaches the statement to the server's refusals and to unsendable values too. */
const isLoss = (error: unknown) =>
  isOutage(error) && error instanceof Error && "query" in error && !(error instanceof postgres.PostgresError);

/**
 * The client, with a `begin` that sends nothing on a connection that was lost during its transaction. The client's own
 * `begin` still sends the `rollback`, `commit` or next statement. Without a socket that ends the process by an uncaught
 * error; on a new connection the statement would run outside any transaction.
 *
 * `begin` rejects as soon as the connection is lost, even if the work never ends. (When the work met another connection's
 * loss, the server ends the idle transaction after its timeout.)
 */
function withGuardedTransactions(sql: postgres.Sql<Types>): Database {
  const begin = sql.begin.bind(sql) as <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
  const oneOfTeam = createKeyedMutex(LIMITS.postgres.teamWaitMs);

  const guarded = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
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
  return Object.assign(sql, {
    begin: <T>(work: (tx: TeamTransaction) => Promise<T>, team?: string): Promise<T> => {
      const run = () => guarded((tx) => work(tx as TeamTransaction));
      return team === undefined ? run() : oneOfTeam(team, run);
    },
  });
}

/**
 * Connection lost, refused or impossible (`ECONNREFUSED`; `EAI_AGAIN`, an unreachable name server; of Node's own `ERR_…`
 * only those of TLS); a standby, which accepts no writes; out of resources; shutting down, cancelled or timed out;
 * deadlock.
 */
const OUTAGE =
  /^(CONNECT(ION)?_[A-Z_]+|E(?!RR_)[A-Z]+|EAI_[A-Z]+|ERR_(SSL|TLS)_[A-Z_\d]+|08...|25006|25P03|40...|53...|55P03|57...)$/;

/** Whether a statement failed because Postgres is unavailable: a repetition may succeed. Otherwise the statement was wrong. */
export function isOutage(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code !== undefined && OUTAGE.test(code);
}

/**
 * Whether Postgres refused access because of DATABASE_URL: user, password, database, TLS or not (class 28, 3D000). The
 * server is up then and has read its roles, which a standby shares with its primary: neither a fail-over nor waiting helps.
 * PgBouncer rejects an unknown start-up parameter in the same words as it reports an unreachable server (08P01).
 */
export function isAccessRefused(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  const { code, message } = error;
  return /^(28...|3D000)$/.test(code) || (code === "08P01" && /unsupported startup parameter/i.test(message));
}

/** A standby answers too, but accepts no writes. */
class PostgresStandby extends Error {
  readonly code = "25006";
}

/** One line that names Postgres and the reason. */
function toUnusableError(error: unknown): Error {
  const { message, code } = error as NodeJS.ErrnoException;
  return new Error(`Postgres is unavailable: ${message || code}`, { cause: error });
}

/**
 * Resolves when Postgres answers and accepts writes. For the start of a process: in a fail-over the name may lead to a
 * standby for a while. Rejects like a statement on an outage (`isOutage`) and on refused access (`isAccessRefused`);
 * otherwise, e.g. for an untrusted certificate, with one line that names Postgres.
 */
export async function requirePrimary(sql: Database): Promise<void> {
  const rows = await sql<[{ standby: boolean }]>`select pg_is_in_recovery() as standby`.catch(
    (error: unknown) => {
      throw isOutage(error) || isAccessRefused(error) ? error : toUnusableError(error);
    },
  );
  if (rows[0].standby) throw new PostgresStandby("the server is a standby that is not promoted yet");
}

/** Resolves when Postgres answers. For readiness. @throws Error one line that names Postgres and the reason */
export async function pingPostgres(sql: Database): Promise<void> {
  await sql`select 1`.catch((error: unknown) => {
    throw toUnusableError(error);
  });
}
