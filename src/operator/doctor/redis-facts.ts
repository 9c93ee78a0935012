import { randomBytes } from "node:crypto";
import { jobStreamKeys } from "../../features/bulk/schedule/job-stream.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { RedisClient, RedisClients } from "../../stores/redis.ts";
import { parseInfo, unusableMode } from "../../stores/redis-mode.ts";
import { errorLine } from "./finding.ts";

export interface RedisFacts {
  /** Fields of INFO, by name; null: it is refused, as some providers do. */
  info: ReadonlyMap<string, string> | null;
  /** null: TIME is refused. */
  timing: {
    latencyMs: number;
    /** By how much the server's clock is ahead of ours. */
    skewMs: number;
  } | null;
  /** Commands that the service needs and that were refused, with the refusal. */
  refused: { command: string; why: string }[];
  /** null: no such server as keeps streams for us, or they may not be looked at. */
  streams: StreamFacts[] | null;
  /** null: as with streams. */
  deadLetters: number | null;
}

export interface StreamFacts {
  name: string;
  /** null: nothing was put into it yet, or the last reader took it along. */
  entries: number | null;
  /** null: this version of Redis does not report it. */
  lag: number | null;
  pending: number;
  consumers: number;
  /** Pending at consumers that were silent for longer than a lease. */
  stuck: number;
}

const PINGS = 5;
/** A probe's keys are gone after this, whatever becomes of the doctor. */
const PROBE_TTL_MS = 30_000;
/** Far above LIMITS.bulk.leaseMs: any running worker would have claimed an entry by then. */
const STUCK_MS = 120_000;

async function clockOf(redis: RedisClient, clock: Clock): Promise<{ latencyMs: number; skewMs: number }> {
  let best = { latencyMs: Number.POSITIVE_INFINITY, skewMs: 0 };
  for (let i = 0; i < PINGS; i++) {
    const begun = clock.monotonic();
    const before = clock.now();
    const [seconds, micros] = (await redis.time()) as unknown as [string, string];
    const latencyMs = clock.monotonic() - begun;
    const there = Number(seconds) * 1_000 + Number(micros) / 1_000;
    if (latencyMs < best.latencyMs) best = { latencyMs, skewMs: there - before - latencyMs / 2 };
  }
  return best;
}

/** One of each command that the service sends, in an order in which each finds its data. */
function commandsOn(key: (name: string) => string): [string, ...(string | number)[]][] {
  const [text, hash, set, stream] = [key("text"), key("hash"), key("set"), key("stream")];
  return [
    ["SET", text, "1", "PX", PROBE_TTL_MS],
    ["GET", text],
    ["MGET", text],
    ["EXISTS", text],
    ["INCR", text],
    ["DECR", text],
    ["PTTL", text],
    ["HSET", hash, "a", "1"],
    ["PEXPIRE", hash, PROBE_TTL_MS],
    ["HMGET", hash, "a"],
    ["HGETALL", hash],
    ["HEXISTS", hash, "a"],
    ["HLEN", hash],
    ["HDEL", hash, "b"],
    ["ZADD", set, 1, "a"],
    ["PEXPIRE", set, PROBE_TTL_MS],
    ["ZCARD", set],
    ["ZREMRANGEBYSCORE", set, 2, 3],
    ["ZREM", set, "b"],
    ["EVAL", "return redis.call('TIME')", 0],
    ["XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM"],
    ["PEXPIRE", stream, PROBE_TTL_MS],
    ["XADD", stream, "1-1", "job", "doctor"],
    ["XLEN", stream],
    ["XRANGE", stream, "-", "+"],
    ["XREADGROUP", "GROUP", "workers", "doctor", "COUNT", 1, "STREAMS", stream, ">"],
    ["XPENDING", stream, "workers", "-", "+", 1],
    ["XCLAIM", stream, "workers", "doctor", 0, "1-1", "JUSTID"],
    ["XAUTOCLAIM", stream, "workers", "doctor", 0, "0", "COUNT", 1],
    ["XINFO", "GROUPS", stream],
    ["XINFO", "CONSUMERS", stream, "workers"],
    ["XACK", stream, "workers", "1-1"],
    ["XDEL", stream, "1-1"],
    ["PUBLISH", key("channel"), ""],
    ["DEL", text, hash, set, stream],
  ];
}

/** Only refusals by an access list count: other checks report a server that cannot be written. */
const isRefusal = (why: string) => /^(NOPERM|ERR unknown (sub)?command)/i.test(why);

/** null: it is refused. Rejects with any other error. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isRefusal(errorLine(error))) return null;
    throw error;
  }
}

async function tryCommands({ commands, subscriber }: RedisClients): Promise<RedisFacts["refused"]> {
  const probe = randomBytes(9).toString("base64url");
  const key = (name: string) => `rcpt:doctor:{${probe}}:${name}`;
  const refused: RedisFacts["refused"] = [];
  const attempt = async (command: string, work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      const why = errorLine(error);
      if (isRefusal(why)) refused.push({ command, why });
    }
  };
  for (const [command, ...args] of commandsOn(key))
    await attempt(command, () => commands.call(command, ...args));
  await attempt("SUBSCRIBE", () => subscriber.subscribe(key("channel")));
  return refused;
}

type Reply = (string | number | null)[];

function fieldsOf(reply: Reply): Map<string, string | number | null> {
  const fields = new Map<string, string | number | null>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1] ?? null);
  return fields;
}

async function lookAtStream(
  redis: RedisClient,
  name: string,
  key: string,
  group: string,
): Promise<StreamFacts> {
  const nothing = { name, entries: null, lag: null, pending: 0, consumers: 0, stuck: 0 };
  if ((await redis.exists(key)) === 0) return nothing;
  const entries = await redis.xlen(key);
  const groups = (await redis.call("XINFO", "GROUPS", key)) as Reply[];
  const ours = groups.map(fieldsOf).find((fields) => fields.get("name") === group);
  if (ours === undefined) return { ...nothing, entries };
  const consumers = ((await redis.call("XINFO", "CONSUMERS", key, group)) as Reply[]).map(fieldsOf);
  const stuck = consumers
    .filter((fields) => Number(fields.get("idle")) > STUCK_MS)
    .reduce((sum, fields) => sum + Number(fields.get("pending")), 0);
  const lag = ours.get("lag");
  return {
    name,
    entries,
    lag: typeof lag === "number" ? lag : null,
    pending: Number(ours.get("pending")),
    consumers: consumers.length,
    stuck,
  };
}

async function lookAtStreams(redis: RedisClient, egressId: string) {
  const { streams, group, dead } = jobStreamKeys(egressId);
  const looked: StreamFacts[] = [];
  for (const [name, key] of Object.entries(streams)) looked.push(await lookAtStream(redis, name, key, group));
  return { streams: looked, deadLetters: await redis.xlen(dead) };
}

/**
 * Queries the server for all facts. Reads only the heads of streams and its own probe keys, which it removes. A refused
 * query leaves its fact out; missing commands are found even so. Rejects when the connection is lost.
 */
export async function lookAtRedis(redis: RedisClients, egressId: string, clock: Clock): Promise<RedisFacts> {
  const { commands } = redis;
  const text = await unlessRefused(() => commands.info());
  const info = text === null ? null : parseInfo(text);
  const isPlain = info === null || (unusableMode(info) === null && info.get("role") !== "slave");
  const refused = isPlain ? await tryCommands(redis) : [];
  const timing = await unlessRefused(() => clockOf(commands, clock));
  const none = { streams: null, deadLetters: null };
  const looked = isPlain ? await unlessRefused(() => lookAtStreams(commands, egressId)) : none;
  return { info, timing, refused, ...(looked ?? none) };
}
