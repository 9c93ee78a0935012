import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { Guard } from "../embedded/guard.ts";
import { freePort } from "../embedded/ports.ts";
import { startPostgres } from "../embedded/postgres.ts";
import { NOBODY, runsAsRoot } from "../embedded/reachable.ts";
import { type ServiceSpec, startService, untilReady } from "../embedded/service.ts";
import { makeTemplate } from "../test/template.ts";

/** Servers that the test runner does not start itself: it is given their addresses. */

const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const REGION = "us-east-1";
/** As docs/configuration.md has it: parameters that the pooler does not pass on are the role's. */
const ROLE_SETTINGS = { statement_timeout: "30s", idle_in_transaction_session_timeout: "30s", jit: "off" };

type Command = Pick<ServiceSpec, "command" | "args" | "env">;

function folderOf(name: string, guard: Guard): string {
  const folder = mkdtempSync(join(tmpdir(), `rcpt-compat-${name}-`));
  guard.removeAtEnd(folder);
  chmodSync(folder, 0o711);
  return folder;
}

async function start(
  name: string,
  folder: string,
  command: Command,
  guard: Guard,
  ready: () => Promise<boolean>,
) {
  const stop = { stopSignal: "SIGTERM", stopGraceMs: STOP_GRACE_MS } as const;
  const service = startService({ ...command, ...stop, logFile: join(folder, `${name}.log`), guard });
  await untilReady(name, service, READY_WITHIN_MS, ready);
}

function poolerSettings(folder: string, port: number, behind: URL): string {
  return [
    "[databases]",
    `* = host=${behind.hostname} port=${behind.port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${join(folder, "users.txt")}`,
    "pool_mode = transaction",
    "max_prepared_statements = 200",
    `ignore_startup_parameters = ${Object.keys(ROLE_SETTINGS).join(",")}`,
    // The databases of many tests are used at once.
    "default_pool_size = 30",
    "max_client_conn = 2000",
    ...(runsAsRoot() ? ["user = nobody"] : []),
    "",
  ].join("\n");
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  return sql`select 1`
    .then(
      () => true,
      () => false,
    )
    .finally(() => sql.end({ timeout: 1 }));
}

/** PgBouncer in transaction mode before a new PostgreSQL. @returns variables for the test runner */
export async function startPooler(pgbouncer: string, guard: Guard): Promise<Record<string, string>> {
  const folder = folderOf("pgbouncer", guard);
  const at = { folder: join(folder, "postgres"), throwaway: true, guard, say: console.log };
  const { url } = await startPostgres(at);
  const template = await makeTemplate(url);
  const sql = postgres(url, { max: 1 });
  for (const [name, value] of Object.entries(ROLE_SETTINGS))
    await sql.unsafe(`alter role current_user set ${name} = '${value}'`);
  await sql.end();
  const port = await freePort();
  const behind = new URL(url);
  writeFileSync(join(folder, "users.txt"), `"${behind.username}" "${behind.password}"\n`, { mode: 0o600 });
  if (runsAsRoot()) chownSync(join(folder, "users.txt"), NOBODY.uid, NOBODY.gid);
  const ini = join(folder, "pgbouncer.ini");
  writeFileSync(ini, poolerSettings(folder, port, behind));
  const before = new URL(url);
  before.port = String(port);
  const command = { command: pgbouncer, args: [ini], env: { PATH: process.env.PATH } };
  await start("pgbouncer", folder, command, guard, () => answers(before.href));
  return { RCPT_TEST_DATABASE_URL: before.href, RCPT_TEST_TEMPLATE: template };
}

interface Storage {
  name: string;
  knownFailures: readonly string[];
  /** @param data an empty folder */
  command(listen: string, data: string, keys: { id: string; secret: string }): Omit<Command, "command">;
}

export const VERSITYGW: Storage = {
  name: "versitygw",
  knownFailures: [],
  command: (listen, data, { id, secret }) => ({
    // Beside the files: not every file system has extended attributes.
    args: ["--port", listen, "--quiet", "posix", "--sidecar", join(data, "metadata"), join(data, "files")],
    env: { ROOT_ACCESS_KEY: id, ROOT_SECRET_KEY: secret },
  }),
};

export const MINIO: Storage = {
  name: "minio",
  // It lists unfinished uploads of one object, not of all below a prefix.
  knownFailures: [
    "goes a while after the job's end, parts included; the results that count stay",
    "ends uploads in parts below the prefix, and deletes one by one where many at once are refused",
    "ends every upload in parts, also when another has ended one of them meanwhile",
  ],
  command: (listen, data, { id, secret }) => ({
    args: ["server", "--address", listen, join(data, "files")],
    env: { MINIO_ROOT_USER: id, MINIO_ROOT_PASSWORD: secret, MINIO_BROWSER: "off", MINIO_UPDATE: "off" },
  }),
};

/** Another object storage than the embedded one. @returns variables for the test runner */
export async function startStorage(
  { name, command }: Storage,
  program: string,
  guard: Guard,
): Promise<Record<string, string>> {
  const folder = folderOf(name, guard);
  for (const part of ["files", "metadata"]) mkdirSync(join(folder, part));
  const keys = { id: "rcpt-compat", secret: randomBytes(18).toString("base64url") };
  const listen = `127.0.0.1:${await freePort()}`;
  const { args, env } = command(listen, folder, keys);
  const endpoint = `http://${listen}`;
  const ready = () =>
    fetch(endpoint).then(
      ({ status }) => status < 500,
      () => false,
    );
  const all = { command: program, args, env: { PATH: process.env.PATH, HOME: folder, ...env } };
  await start(name, folder, all, guard, ready);
  return {
    RCPT_TEST_S3_ENDPOINT: endpoint,
    RCPT_TEST_S3_REGION: REGION,
    RCPT_TEST_S3_ACCESS_KEY_ID: keys.id,
    RCPT_TEST_S3_SECRET_ACCESS_KEY: keys.secret,
  };
}
