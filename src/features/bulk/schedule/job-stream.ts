import type { RedisClient } from "../../../stores/redis.ts";
import type { TaskPointer } from "./job-tasks.ts";

/**
 * Pointers to tasks for workers, in Redis streams with one consumer group each. Redis Streams in brief: an entry read
 * through a group is *pending* for its consumer until it is acknowledged; another consumer can claim an entry that is
 * pending for too long without a sign of life.
 *
 * Keys, in one slot of a cluster and without a TTL, so that `volatile-lru` leaves them alone:
 * - `rcpt:{bulk}:tasks`: chunks, for all workers. Entries have `job` and `number`. A finished entry is acknowledged and
 * deleted in one step, so a stream is as long as its outstanding tasks, bounded by the windows of emission.
 * - `rcpt:{bulk}:whole`: analyses and assemblies, which read a whole list and take long, so that no chunk waits behind
 * them.
 * - `rcpt:{bulk}:retry:<egress>`: retries, for the workers of that egress; `rcpt:{bulk}:retry` those for any worker.
 * - `rcpt:{bulk}:dead`: dead letters, the newest few.
 *
 * And with a TTL, for each stream, `rcpt:{bulk}:alive:…`: its workers by their last sign of life. (Redis 7.0 does not list
 * consumers that never got an entry.)
 *
 * All of it may be lost at any time: the emitter compares it with Postgres.
 */
const PREFIX = "rcpt:{bulk}:";
const TASKS = "tasks";
const WHOLE = "whole";
const RETRIES = "retry";
const DEAD = `${PREFIX}dead`;
const ALIVE_TTL_MS = 3_600_000;
const GROUP = "workers";
const DEAD_KEPT = 1_000;
const CLAIM_CALLS = 100;
/** Idle for so long that any reader may claim it. */
const ABANDONED_MS = 86_400_000;

/** For inspection only: the task streams with the egress's retry stream, the dead letters, and the consumer group. */
export function jobStreamKeys(egress: string): {
  streams: Record<string, string>;
  dead: string;
  group: string;
} {
  const ours = `${RETRIES}:${encodeURIComponent(egress)}`;
  const streams = { tasks: TASKS, whole: WHOLE, retry: RETRIES, "retry of our egress": ours };
  const keys = Object.entries(streams).map(([name, stream]) => [name, `${PREFIX}${stream}`] as const);
  return { streams: Object.fromEntries(keys), dead: DEAD, group: GROUP };
}

export interface StreamEntry {
  id: string;
  pointer: TaskPointer;
}

/** Entries of a stream. */
export interface StreamLoad {
  /**
   * Entries that no worker has taken, as Redis counts. Where Redis cannot tell (before Redis 7, or after entries were
   * deleted out of order), all but those taken, which is the same: a finished entry is deleted.
   */
  lag: number;
  /** In workers' hands. */
  pending: number;
}

export interface JobStream {
  /** Adds entries: all of them or, when it rejects, perhaps some. */
  add(pointers: readonly TaskPointer[]): Promise<void>;
  /**
   * New entries for a consumer, at most `count`; none after `blockMs` (null: returns at once).
   * @param reader a connection without other users: the call blocks it
   */
  read(reader: RedisClient, consumer: string, count: number, blockMs: number | null): Promise<StreamEntry[]>;
  /** Takes over entries without a sign of life for `idleMs`. */
  claim(consumer: string, idleMs: number, count: number): Promise<StreamEntry[]>;
  /** Gives a sign of life. Returns the ids that still belong to the consumer. */
  renew(consumer: string, ids: readonly string[]): Promise<Set<string>>;
  /** Lets others claim the entry at once, if it still belongs to the consumer. */
  handBack(consumer: string, id: string): Promise<void>;
  /** The task is done, or there is nothing to do: deletes its entries. */
  finish(ids: readonly string[]): Promise<void>;
  /** Every pointer in the stream, pending or not, read in at most `pages` pages; null when there are more. */
  outstanding(pageSize: number, pages: number): Promise<Set<string> | null>;
  /** Number of entries. */
  load(): Promise<StreamLoad>;
  /** The consumer gives a sign of life. */
  heartbeat(consumer: string): Promise<void>;
  /** Consumers with a sign of life within `silentMs`. */
  countConsumers(silentMs: number): Promise<number>;
  /** Removes consumers that have nothing pending and were idle for `idleMs`. */
  removeIdleConsumers(idleMs: number): Promise<void>;
  /** Removes the consumer. With the last consumer an empty stream goes too. */
  removeConsumer(consumer: string): Promise<void>;
  /** Deletes the stream and its entries. */
  drop(): Promise<void>;
}

/** All streams of tasks. */
export interface JobStreams {
  /** Chunks. */
  tasks: JobStream;
  /** Analyses and assemblies. */
  whole: JobStream;
  /** Retries for the workers of an egress; '': any. */
  retries(egress: string): JobStream;
  /** Records a dead letter. */
  bury(pointer: TaskPointer, deliveries: number): Promise<void>;
  /** Number of dead letters. */
  buried(): Promise<number>;
}

/** One text for a pointer, for use in sets. */
export function pointerKey({ jobId, number }: TaskPointer): string {
  return `${jobId} ${number}`;
}

/**
 * KEYS: the stream. ARGV: group, consumer, ids. Renews only entries of the consumer, so that it takes none back from
 * another.
 */
const RENEW = `
local mine = {}
for i = 3, #ARGV do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])
  if #pending > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
    mine[#mine + 1] = ARGV[i]
  end
end
return mine`;

/** KEYS: the stream. ARGV: group, consumer, idle time, id. Does nothing for an entry that another consumer has by now. */
const HAND_BACK = `
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[4], ARGV[4], 1, ARGV[2])
if #pending > 0 then
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[4], 'IDLE', ARGV[3], 'JUSTID')
end`;

/** KEYS: the stream. ARGV: group, minimum idle time. */
const REMOVE_IDLE = `
local removed = 0
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local fields = {}
  for i = 1, #consumer, 2 do fields[consumer[i]] = consumer[i + 1] end
  if fields.pending == 0 and fields.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], fields.name)
    removed = removed + 1
  end
end
return removed`;

/** KEYS: the stream, its workers. ARGV: group, consumer. The consumer stays while it has pending entries. */
const LEAVE = `
redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then return end
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #pending > 0 then return end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
if redis.call('XLEN', KEYS[1]) == 0 and redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end`;

/** KEYS: the workers of a stream. ARGV: consumer, TTL of the key. */
const GREET = `
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], now[1] * 1000 + math.floor(now[2] / 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: the workers of a stream. ARGV: maximum silence. */
const COUNT_ALIVE = `
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1])
return redis.call('ZCARD', KEYS[1])`;

type RawEntry = [id: string, fields: string[] | null];

/** null for an entry that is not ours, or was deleted. */
function readEntry([id, fields]: RawEntry): StreamEntry | null {
  const values = new Map<string, string>();
  for (let i = 0; fields !== null && i + 1 < fields.length; i += 2)
    values.set(fields[i] ?? "", fields[i + 1] ?? "");
  const jobId = values.get("job");
  const number = Number(values.get("number") ?? Number.NaN);
  return jobId === undefined || !Number.isInteger(number) ? null : { id, pointer: { jobId, number } };
}

function readEntries(raw: readonly RawEntry[]): StreamEntry[] {
  return raw.map(readEntry).filter((entry) => entry !== null);
}

function isMissingGroup(error: unknown): boolean {
  return (
    error instanceof Error && (error.message.startsWith("NOGROUP") || error.message.includes("no such key"))
  );
}

/** The result of a command of a transaction. @throws its error; a missing stream gives `otherwise` instead */
function valueOrDefault(
  answer: [error: Error | null, value: unknown] | undefined,
  otherwise: unknown,
): unknown {
  const [error = null, value = otherwise] = answer ?? [];
  if (error === null) return value;
  if (isMissingGroup(error)) return otherwise;
  throw error;
}

type Field = string | number | null;

function loadOf(length: number, groups: readonly Field[][]): StreamLoad {
  for (const group of groups) {
    const fields = new Map<Field, Field>();
    for (let i = 0; i + 1 < group.length; i += 2) fields.set(group[i] ?? null, group[i + 1] ?? null);
    if (fields.get("name") !== GROUP) continue;
    const pending = Number(fields.get("pending") ?? 0);
    const lag = fields.get("lag");
    return { lag: typeof lag === "number" ? lag : Math.max(0, length - pending), pending };
  }
  // No consumer has read it yet.
  return { lag: length, pending: 0 };
}

/** @param name of the stream, after the prefix of all keys */
function createJobStream(redis: RedisClient, name: string): JobStream {
  const key = `${PREFIX}${name}`;
  const alive = `${PREFIX}alive:${name}`;

  async function makeGroup(): Promise<void> {
    try {
      await redis.xgroup("CREATE", key, GROUP, "0", "MKSTREAM");
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("BUSYGROUP"))) throw error;
    }
  }

  /** `work`, or `otherwise` when the group is missing: Redis is new, or was emptied. Creates the group for the next time. */
  async function inGroup<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isMissingGroup(error)) throw error;
      await makeGroup();
      return otherwise;
    }
  }

  return {
    async add(pointers) {
      if (pointers.length === 0) return;
      const batch = redis.pipeline();
      for (const { jobId, number } of pointers) batch.xadd(key, "*", "job", jobId, "number", number);
      for (const [error] of (await batch.exec()) ?? []) if (error) throw error;
    },
    read: (reader, consumer, count, blockMs) =>
      inGroup(async () => {
        const source = ["GROUP", GROUP, consumer, "COUNT", count] as const;
        const answer =
          blockMs === null
            ? await reader.xreadgroup(...source, "STREAMS", key, ">")
            : await reader.xreadgroup(...source, "BLOCK", blockMs, "STREAMS", key, ">");
        const [stream] = (answer ?? []) as [string, RawEntry[]][];
        return readEntries(stream?.[1] ?? []);
      }, []),
    claim: (consumer, idleMs, count) =>
      inGroup(async () => {
        // One call scans ten times `count` pending entries, then says where to go on.
        let start = "0";
        for (let call = 0; call < CLAIM_CALLS; call++) {
          const answer = await redis.xautoclaim(key, GROUP, consumer, idleMs, start, "COUNT", count);
          const [next, entries] = answer as [string, RawEntry[]];
          if (entries.length > 0 || next === "0-0") return readEntries(entries);
          start = next;
        }
        return [];
      }, []),
    renew: (consumer, ids) =>
      inGroup(
        async () => new Set((await redis.eval(RENEW, 1, key, GROUP, consumer, ...ids)) as string[]),
        new Set<string>(),
      ),
    async handBack(consumer, id) {
      await inGroup(async () => {
        await redis.eval(HAND_BACK, 1, key, GROUP, consumer, ABANDONED_MS, id);
      }, undefined);
    },
    async finish(ids) {
      if (ids.length === 0) return;
      const done = redis.multi();
      done.xack(key, GROUP, ...ids);
      done.xdel(key, ...ids);
      await done.exec();
    },
    async outstanding(pageSize, pages) {
      const pointers = new Set<string>();
      let start = "-";
      for (let page = 0; page < pages; page++) {
        const entries = (await redis.xrange(key, start, "+", "COUNT", pageSize)) as RawEntry[];
        for (const { pointer } of readEntries(entries)) pointers.add(pointerKey(pointer));
        const last = entries.at(-1);
        if (last === undefined || entries.length < pageSize) return pointers;
        start = `(${last[0]}`;
      }
      return null;
    },
    async load() {
      const [length, groups] = (await redis.multi().xlen(key).xinfo("GROUPS", key).exec()) ?? [];
      return loadOf(valueOrDefault(length, 0) as number, valueOrDefault(groups, []) as Field[][]);
    },
    async heartbeat(consumer) {
      await redis.eval(GREET, 1, alive, consumer, ALIVE_TTL_MS);
    },
    countConsumers: async (silentMs) => (await redis.eval(COUNT_ALIVE, 1, alive, silentMs)) as number,
    async removeIdleConsumers(idleMs) {
      await inGroup(async () => {
        await redis.eval(REMOVE_IDLE, 1, key, GROUP, idleMs);
      }, undefined);
    },
    async removeConsumer(consumer) {
      try {
        await redis.eval(LEAVE, 2, key, alive, GROUP, consumer);
      } catch (error) {
        if (!isMissingGroup(error)) throw error;
      }
    },
    async drop() {
      await redis.del(key, alive);
    },
  };
}

export function createJobStreams(redis: RedisClient): JobStreams {
  return {
    tasks: createJobStream(redis, TASKS),
    whole: createJobStream(redis, WHOLE),
    // Encoded, so that no egress name can end the hash tag or collide with another key.
    retries: (egress) =>
      createJobStream(redis, egress === "" ? RETRIES : `${RETRIES}:${encodeURIComponent(egress)}`),
    buried: () => redis.xlen(DEAD),
    async bury({ jobId, number }, deliveries) {
      const fields = ["job", jobId, "number", number, "deliveries", deliveries];
      await redis.xadd(DEAD, "MAXLEN", "~", DEAD_KEPT, "*", ...fields);
    },
  };
}
