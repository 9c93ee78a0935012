import type { TaskPointer } from "./job-tasks.ts";
import type { RedisClient } from "./redis.ts";

/**
 * Pointers to tasks on their way to workers, in Redis streams with one consumer group each. Redis Streams in brief: an
 * entry read through a group is *pending* for its consumer until it is acknowledged; one that is pending for too long
 * without a sign of life can be claimed by another consumer.
 *
 * Keys, in one slot of a cluster and without a TTL, so that `volatile-lru` leaves them alone:
 * - `rcpt:{bulk}:tasks`: chunks, for all workers. Entries have `job` and `number`. A finished one
 *   is acknowledged and deleted in one step, so a stream is as long as there are tasks outstanding in it, bounded by the
 *   windows of emission.
 * - `rcpt:{bulk}:whole`: analyses and assemblies, which read a whole list and take long, so that no chunk waits behind them.
 * - `rcpt:{bulk}:retry:<egress>`: retries, for the workers of that egress; `rcpt:{bulk}:retry` those for anybody.
 * - `rcpt:{bulk}:dead`: tasks that were given up, the newest few.
 *
 * And with a TTL, for each stream, `rcpt:{bulk}:alive:…`: its workers by the last sign of life. (Redis 7.0 knows nothing of
 * consumers to whom it never gave an entry.)
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
/** Idle for so long that whoever looks next may claim it. */
const ABANDONED_MS = 86_400_000;

/** For whoever only looks: the streams of tasks with those of an egress' retries, the dead letters, and the group that reads. */
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
   * That no worker has taken, as Redis reckons. Where it cannot tell (before Redis 7, or after entries were deleted out of
   * turn), all but those taken, which is the same: a finished entry is deleted.
   */
  lag: number;
  /** In workers' hands. */
  pending: number;
}

export interface JobStream {
  /** Adds entries, all or, when it rejects, perhaps some. */
  add(pointers: readonly TaskPointer[]): Promise<void>;
  /**
   * New entries for a consumer, `count` at most; none after `blockMs` (null: at once).
   * @param reader a connection that nobody else uses: it is blocked meanwhile
   */
  read(reader: RedisClient, consumer: string, count: number, blockMs: number | null): Promise<StreamEntry[]>;
  /** Takes over entries that nobody gave a sign of life of for `idleMs`. */
  claim(consumer: string, idleMs: number, count: number): Promise<StreamEntry[]>;
  /** A sign of life. The ids that are still the consumer's. */
  renew(consumer: string, ids: readonly string[]): Promise<Set<string>>;
  /** Lets others claim the entry at once, if it is still the consumer's. */
  handBack(consumer: string, id: string): Promise<void>;
  /** The task is done, or there is nothing to do: its entries go. */
  finish(ids: readonly string[]): Promise<void>;
  /** Every pointer in the stream, pending or not, in one of `pages` pages; null when there are more. */
  outstanding(pageSize: number, pages: number): Promise<Set<string> | null>;
  /** How much there is in it. */
  load(): Promise<StreamLoad>;
  /** A consumer says that it is there. */
  greet(consumer: string): Promise<void>;
  /** Consumers that said so within `silentMs`. */
  countConsumers(silentMs: number): Promise<number>;
  /** Removes consumers that have nothing pending and were idle for `idleMs`. */
  removeIdleConsumers(idleMs: number): Promise<void>;
  /** The consumer goes. With the last one the stream goes too, when it is empty. */
  leave(consumer: string): Promise<void>;
  /** Forgets the stream and all that is in it. */
  drop(): Promise<void>;
}

/** All streams of tasks. */
export interface JobStreams {
  /** Chunks. */
  tasks: JobStream;
  /** Analyses and assemblies. */
  whole: JobStream;
  /** Retries that the workers of an egress are to do; '': any. */
  retries(egress: string): JobStream;
  /** Notes a task that is given up. */
  bury(pointer: TaskPointer, deliveries: number): Promise<void>;
  /** How many such notes there are. */
  buried(): Promise<number>;
}

/** One text for a pointer, to put into sets. */
export function pointerKey({ jobId, number }: TaskPointer): string {
  return `${jobId} ${number}`;
}

/** KEYS: the stream. ARGV: group, consumer, ids. Renews only what is still the consumer's, so that it steals nothing back. */
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

/** KEYS: the stream. ARGV: group, consumer, idle time, id. Nothing for an entry that is another's by now. */
const HAND_BACK = `
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[4], ARGV[4], 1, ARGV[2])
if #pending > 0 then
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[4], 'IDLE', ARGV[3], 'JUSTID')
end`;

/** KEYS: the stream. ARGV: group, shortest idle time. */
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

/** KEYS: the stream, its workers. ARGV: group, consumer. The consumer stays while anything is pending for it. */
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

/** KEYS: the workers of a stream. ARGV: longest silence. */
const COUNT_ALIVE = `
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1])
return redis.call('ZCARD', KEYS[1])`;

type RawEntry = [id: string, fields: string[] | null];

/** null for what is no entry of ours, or was deleted. */
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

/** What a command of a transaction brought. @throws its error, but for a stream that is not there: `otherwise` */
function broughtBy(answer: [error: Error | null, value: unknown] | undefined, otherwise: unknown): unknown {
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
  // Nobody has read of it yet.
  return { lag: length, pending: 0 };
}

/** @param name of the stream behind the prefix of all keys */
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

  /** `work`, or `otherwise` when the group is not there: Redis is new, or was emptied. It is made for the next time. */
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
        // One call looks at ten times `count` pending entries, then says where to go on.
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
      return loadOf(broughtBy(length, 0) as number, broughtBy(groups, []) as Field[][]);
    },
    async greet(consumer) {
      await redis.eval(GREET, 1, alive, consumer, ALIVE_TTL_MS);
    },
    countConsumers: async (silentMs) => (await redis.eval(COUNT_ALIVE, 1, alive, silentMs)) as number,
    async removeIdleConsumers(idleMs) {
      await inGroup(async () => {
        await redis.eval(REMOVE_IDLE, 1, key, GROUP, idleMs);
      }, undefined);
    },
    async leave(consumer) {
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
    // Encoded, so that no egress's name can end the hash tag or be another key.
    retries: (egress) =>
      createJobStream(redis, egress === "" ? RETRIES : `${RETRIES}:${encodeURIComponent(egress)}`),
    buried: () => redis.xlen(DEAD),
    async bury({ jobId, number }, deliveries) {
      const fields = ["job", jobId, "number", number, "deliveries", deliveries];
      await redis.xadd(DEAD, "MAXLEN", "~", DEAD_KEPT, "*", ...fields);
    },
  };
}
