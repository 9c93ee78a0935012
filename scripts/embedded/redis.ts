import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync, constants, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { unpackProgram } from "./debian-package.ts";
import { PortTakenError, withFreePort } from "./ports.ts";
import type { EmbeddedOptions } from "./postgres.ts";
import { whyNoPackages } from "./private-apt.ts";
import { type ServiceProcess, startService, untilReady } from "./service.ts";

export interface EmbeddedRedis {
  url: string;
  service: ServiceProcess;
}

interface RedisOptions extends EmbeddedOptions {
  /** Folder for what is downloaded. */
  cacheDir: string;
  /** URL of an earlier one, whose port and password the new one takes. */
  again?: string;
}

interface Program {
  binary: string;
  env: Record<string, string | undefined>;
}

const REDIS = { name: "redis-server", path: "usr/bin/redis-server" };
const OLDEST_MAJOR = 7;
const READY_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 10_000;
/** Room for caches. Streams have no TTL and are never evicted; past this, writes of new work are refused. */
const MAX_MEMORY = "512mb";
/** Each test file gets one to itself. */
const DATABASES = 4_096;

function onPath(): Program | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of ["redis-server", "valkey-server"]) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return { binary: join(folder, name), env: { PATH: process.env.PATH } };
      } catch {
        // Not here.
      }
    }
  }
  return null;
}

/** True when the program runs and is Redis 7, Valkey 7 or newer. */
async function isUsable({ binary, env }: Program): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)(binary, ["--version"], { env, timeout: 10_000 });
    return Number(/v=(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_MAJOR;
  } catch {
    return false;
  }
}

function howToInstall(): string {
  if (process.platform === "darwin") return "brew install redis";
  for (const [manager, command] of [
    ["/usr/bin/apt-get", "sudo apt-get install redis-server"],
    ["/usr/bin/dnf", "sudo dnf install valkey"],
    ["/sbin/apk", "sudo apk add valkey"],
    ["/usr/bin/pacman", "sudo pacman -S valkey"],
    ["/usr/bin/zypper", "sudo zypper install redis"],
  ] as const) {
    try {
      accessSync(manager, constants.X_OK);
      return command;
    } catch {
      // Another system.
    }
  }
  return "install redis-server";
}

/**
 * redis-server (or valkey-server) of version 7 or newer: on PATH, else out of Debian's packages in `cacheDir`.
 * @throws Error one message that says what to do on this platform.
 */
async function findRedis({ cacheDir, guard, say }: RedisOptions): Promise<Program> {
  const installed = onPath();
  if (installed && (await isUsable(installed))) return installed;
  let reason = installed
    ? `${installed.binary} is older than version ${OLDEST_MAJOR}`
    : "there is no redis-server";
  if (whyNoPackages() === null) {
    try {
      const { binary, libraries } = await unpackProgram(REDIS, "redis", { folder: cacheDir, guard, say });
      const env = { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries.join(":") };
      if (await isUsable({ binary, env })) return { binary, env };
      reason = `the distribution's Redis is older than version ${OLDEST_MAJOR}`;
    } catch (error) {
      reason += `, and its packages cannot be had (${firstLine(error)})`;
    }
  }
  throw new Error(
    `Redis ${OLDEST_MAJOR} or newer is needed, but ${reason}.\nEither: ${howToInstall()}\nor set REDIS_URL.`,
  );
}

/** The error in one line: a failed command's standard error, without the command line and without host names. */
function firstLine(error: unknown): string {
  const stderr = (error as { stderr?: string }).stderr ?? "";
  const text = stderr === "" ? (error as Error).message : stderr;
  return (text.trim().split("\n")[0] ?? "").replaceAll(/https?:\/\/\S+/g, "the package source");
}

/**
 * @param throwaway its append-only file is deleted with it: rewriting that took up to as much CPU as all other work of
 * Redis
 */
function configuration(
  { folder, throwaway }: Pick<RedisOptions, "folder" | "throwaway">,
  port: number,
  password: string,
): string {
  return [
    "bind 127.0.0.1",
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(folder)}`,
    "daemonize no",
    `databases ${DATABASES}`,
    "appendonly yes",
    // A command waits for a slow disk, longer than clients wait for it.
    `appendfsync ${throwaway ? "no" : "everysec"}`,
    ...(throwaway ? ["auto-aof-rewrite-min-size 1gb"] : []),
    'save ""',
    `maxmemory ${MAX_MEMORY}`,
    "maxmemory-policy volatile-lru",
    "loglevel warning",
    "",
  ].join("\n");
}

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: 5_000,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/**
 * Starts a Redis of our own on a free loopback port, with its data in `options.folder`. The password is new each time
 * and passed on standard input, where no process list shows it.
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedRedis> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  mkdirSync(options.cacheDir, { recursive: true });
  const { binary, env } = await findRedis(options);
  const before = options.again === undefined ? null : new URL(options.again);
  const password = before?.password ?? randomBytes(24).toString("base64url");
  return withFreePort(
    async (port) => {
      const service = startService({
        command: binary,
        args: ["-"],
        env,
        stdin: configuration(options, port, password),
        logFile: join(options.folder, "redis.log"),
        stopSignal: "SIGTERM",
        stopGraceMs: STOP_GRACE_MS,
        guard: options.guard,
      });
      const url = `redis://:${password}@127.0.0.1:${port}/0`;
      try {
        await untilReady("Redis", service, READY_WITHIN_MS, () => answers(url));
      } catch (error) {
        if (/Could not create server TCP|Address already in use/i.test(service.lastLines()))
          throw new PortTakenError(String(error));
        throw error;
      }
      return { url, service };
    },
    before === null ? undefined : Number(before.port),
  );
}
