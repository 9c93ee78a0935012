import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import postgres from "postgres";
import { commandOf, startOf } from "../processes.mjs";
import type { Guard } from "./guard.ts";
import { PortTakenError, withFreePort } from "./ports.ts";
import { type PostgresBinaries, postgresBinaries } from "./postgres-binaries.ts";
import { NOBODY, reachableFolder, runsAsRoot } from "./reachable.ts";
import { type ServiceProcess, startService, untilReady } from "./service.ts";

export interface EmbeddedPostgres {
  /** URL of the database `rcpt`, as a superuser of the cluster. */
  url: string;
  /** Folder of its data: not always the requested one. */
  folder: string;
  service: ServiceProcess;
}

export interface EmbeddedOptions {
  /** Folder of this service alone. */
  folder: string;
  /** Data is thrown away afterwards: no waiting for the disk. */
  throwaway: boolean;
  guard: Guard;
  say: (line: string) => void;
}

const USER = "rcpt";
const INIT_TIMEOUT_MS = 120_000;
const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 15_000;
/** Nothing of the caller's PG* variables may reach the server. */
const ENV = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };

/** Makes the cluster in `folder/data`, under a temporary name until it is whole, and gives its password. */
async function ensureCluster(folder: string, binaries: PostgresBinaries, guard: Guard): Promise<string> {
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  if (existsSync(data)) return readFileSync(passwordFile, "utf8").trim();
  const unfinished = join(folder, "data.new");
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, `${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  if (runsAsRoot()) chownSync(passwordFile, NOBODY.uid, NOBODY.gid);
  const args = ["-D", unfinished, "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(binaries.initdb, [...args, `--pwfile=${passwordFile}`], {
    env: { ...ENV, ...guard.env },
    cwd: "/",
    timeout: INIT_TIMEOUT_MS,
    ...(runsAsRoot() ? NOBODY : {}),
  });
  renameSync(unfinished, data);
  return readFileSync(passwordFile, "utf8").trim();
}

/** Ends a server that a run killed together with its guard left on our data, and takes its pid file away. */
async function clearStale(data: string): Promise<void> {
  const pidFile = join(data, "postmaster.pid");
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  const start = Number.isInteger(pid) && pid > 1 ? startOf(pid) : null;
  if (start !== null && commandOf(pid).includes(data)) {
    process.kill(pid, "SIGINT");
    const deadline = Date.now() + STOP_GRACE_MS;
    while (startOf(pid) === start && Date.now() < deadline) await wait(50);
    if (startOf(pid) === start) process.kill(pid, "SIGKILL");
    while (startOf(pid) === start) await wait(50);
  }
  rmSync(pidFile, { force: true });
}

function serverArguments(data: string, port: number, throwaway: boolean): string[] {
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    `port=${port}`,
    // As many test files run at once as the machine has cores for, each with a few roles.
    `max_connections=${throwaway ? 500 : 200}`,
    "log_min_messages=warning",
    ...(throwaway ? ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] : []),
  ];
  return ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    if (found.length === 0) await sql`create database ${sql(name)}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Starts a PostgreSQL of our own on a free loopback port, making its cluster in `options.folder` the first time. It
 * listens on 127.0.0.1 only and requires a generated password.
 * @param options.again URL of an earlier one in the folder, whose port the new one takes
 *
 * @throws Error with the server's last lines when it does not come up.
 */
export async function startPostgres(
  options: EmbeddedOptions & { again?: string },
): Promise<EmbeddedPostgres> {
  const folder = reachableFolder(options.folder, options.say);
  if (options.throwaway) options.guard.removeAtEnd(folder);
  const binaries = postgresBinaries(folder);
  const own = join(folder, "cluster");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  if (runsAsRoot()) chownSync(own, NOBODY.uid, NOBODY.gid);
  const password = await ensureCluster(own, binaries, options.guard);
  const data = join(own, "data");
  await clearStale(data);

  return withFreePort(
    async (port) => {
      const service = startService({
        command: binaries.postgres,
        args: serverArguments(data, port, options.throwaway),
        env: ENV,
        logFile: join(options.folder, "postgres.log"),
        // Fast shutdown: sessions are ended, data is written. SIGTERM would wait for every client to leave.
        stopSignal: "SIGINT",
        stopGraceMs: STOP_GRACE_MS,
        guard: options.guard,
        ...(runsAsRoot() ? { user: NOBODY } : {}),
      });
      const url = (database: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
      try {
        await untilReady("PostgreSQL", service, READY_WITHIN_MS, () => answers(url("postgres")));
      } catch (error) {
        if (/could not (bind|create any TCP)/.test(service.lastLines()))
          throw new PortTakenError(String(error));
        throw error;
      }
      await ensureDatabase(url("postgres"), USER);
      return { url: url(USER), folder, service };
    },
    options.again === undefined ? undefined : Number(new URL(options.again).port),
  );
}
