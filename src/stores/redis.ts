import { Redis, ReplyError } from "ioredis";
import { LIMITS } from "../config/limits/limits.ts";
import type { Logger } from "../platform/log.ts";
import { parseInfo, UNUSABLE_REDIS, unusableMode } from "./redis-mode.ts";

/** One connection to Redis. */
export type RedisClient = Redis;

export interface RedisClients {
  /** Connection for commands. They fail at once while Redis is unreachable, and are not queued. */
  commands: RedisClient;
  /** A separate connection for subscriptions. After a loss its owner subscribes again on `ready`. */
  subscriber: RedisClient;
  /** Starts connecting. Resolves when both are connected, or when the first attempt failed: then they keep trying. */
  start(): Promise<void>;
  /** Resolves when Redis answers; rejects when it does not, within LIMITS.redis.commandTimeoutMs. */
  ping(): Promise<void>;
  stop(): void;
}

/** The client's messages about a missing or silent connection: these errors have neither a class nor a code. */
const CLIENT_SAYS =
  /^(Connection is closed|Command timed out|Stream isn't writeable|Socket timeout|connect ETIMEDOUT|Command aborted due to connection close|Reached the max retries)/;
/**
 * A server's messages when it is up but serves no requests, or no writes, now: loading, failing over, out of memory or
 * space.
 */
const SERVER_SAYS =
  /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|ERR max number of clients)\b/;
const NETWORK = /^E(?!RR_)[A-Z_]+$/;

/**
 * Whether a command failed because Redis is unavailable: a repetition may succeed. Otherwise the command, or the use of its
 * answer, was wrong.
 */
export function isRedisOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof ReplyError) return SERVER_SAYS.test(error.message);
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? CLIENT_SAYS.test(error.message) : NETWORK.test(code);
}

function backOff(attempt: number): number {
  const { reconnectFirstMs, reconnectMaxMs } = LIMITS.redis;
  const delayMs = Math.min(reconnectFirstMs * 2 ** Math.min(attempt, 16), reconnectMaxMs);
  // Half of it is random, so that processes do not all come back at once.
  return delayMs / 2 + Math.random() * (delayMs / 2);
}

function connectLazily(
  url: string,
  name: string,
  commandTimeoutMs: number = LIMITS.redis.commandTimeoutMs,
): RedisClient {
  return new Redis(url, {
    lazyConnect: true,
    connectionName: name,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: LIMITS.redis.connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    retryStrategy: backOff,
    // After a fail-over the old primary answers READONLY: reconnect.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  });
}

/**
 * A connection for one command at a time that blocks up to `blockMs` at the server; a command that takes
 * LIMITS.redis.blockingGraceMs longer fails. Its owner connects and disconnects it.
 */
export function createBlockingRedis(options: {
  url: string;
  name: string;
  blockMs: number;
  log: Logger;
}): RedisClient {
  const timeoutMs = options.blockMs + LIMITS.redis.blockingGraceMs;
  const client = connectLazily(options.url, `${options.name}-block`, timeoutMs);
  client.on("error", (error: Error) => options.log.debug({ err: error }, "redis"));
  return client;
}

/** Logs an error where commands would fail one by one, each in its own way. */
async function reportMode(client: RedisClient, log: Logger): Promise<void> {
  // Refused to our user, or not connected: then nothing is known.
  const text = await client.info().catch(() => "");
  const mode = unusableMode(parseInfo(text));
  if (mode !== null) log.error({ mode }, `${UNUSABLE_REDIS[mode].text} ${UNUSABLE_REDIS[mode].advice}`);
}

/**
 * The two Redis connections of a process. Redis is a cache and a transport here: each caller handles its absence, and
 * learns of it within one command timeout, mostly at once.
 */
export function createRedis(options: {
  url: string;
  name: string;
  log: Logger;
  /** Default: LIMITS.redis.commandTimeoutMs. For callers that can wait longer. */
  commandTimeoutMs?: number;
}): RedisClients {
  const commands = connectLazily(options.url, options.name, options.commandTimeoutMs);
  const subscriber = connectLazily(options.url, `${options.name}-sub`, options.commandTimeoutMs);
  for (const client of [commands, subscriber]) {
    client.on("error", (error: Error) => {
      options.log.debug({ err: error, connection: client.options.connectionName }, "redis");
    });
  }
  return {
    commands,
    subscriber,
    async start() {
      await Promise.allSettled([commands.connect(), subscriber.connect()]);
      await reportMode(commands, options.log);
    },
    async ping() {
      await commands.ping();
    },
    stop() {
      commands.disconnect();
      subscriber.disconnect();
    },
  };
}
