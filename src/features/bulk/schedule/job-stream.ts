import type { RedisClient } from "../../../stores/redis.ts";
import { GROUP, inGroup } from "./consumer-group.ts";
import type { TaskPointer } from "./job-tasks.ts";
import { createStreamConsumers, type StreamConsumers } from "./stream-consumers.ts";
import { loadOfStream, type StreamLoad } from "./stream-load.ts";

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

export interface JobStream extends StreamConsumers {
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
 * KEYS: the stream. ARGV: group, consumer, ids. Renews only entries of the consumer, so that it takes back no entry from
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

/** See `JobStream.outstanding`. */
async function pointersIn(
  redis: RedisClient,
  key: string,
  pageSize: number,
  pages: number,
): Promise<Set<string> | null> {
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
}

/** @param name of the stream, after the prefix of all keys */
function createJobStream(redis: RedisClient, name: string): JobStream {
  const key = `${PREFIX}${name}`;
  const alive = `${PREFIX}alive:${name}`;

  const whenGrouped = <T>(work: () => Promise<T>, otherwise: T) => inGroup(redis, key, work, otherwise);

  return {
    ...createStreamConsumers(redis, { stream: key, alive }),
    async add(pointers) {
      if (pointers.length === 0) return;
      const batch = redis.pipeline();
      for (const { jobId, number } of pointers) batch.xadd(key, "*", "job", jobId, "number", number);
      for (const [error] of (await batch.exec()) ?? []) if (error) throw error;
    },
    read: (reader, consumer, count, blockMs) =>
      whenGrouped(async () => {
        const source = ["GROUP", GROUP, consumer, "COUNT", count] as const;
        const answer =
          blockMs === null
            ? await reader.xreadgroup(...source, "STREAMS", key, ">")
            : await reader.xreadgroup(...source, "BLOCK", blockMs, "STREAMS", key, ">");
        const [stream] = (answer ?? []) as [string, RawEntry[]][];
        return readEntries(stream?.[1] ?? []);
      }, []),
    claim: (consumer, idleMs, count) =>
      whenGrouped(async () => {
        // One call scans ten times `count` pending entries, and returns the position to continue at.
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
      whenGrouped(
        async () => new Set((await redis.eval(RENEW, 1, key, GROUP, consumer, ...ids)) as string[]),
        new Set<string>(),
      ),
    async handBack(consumer, id) {
      const release = async () =>
        void (await redis.eval(HAND_BACK, 1, key, GROUP, consumer, ABANDONED_MS, id));
      await whenGrouped(release, undefined);
    },
    async finish(ids) {
      if (ids.length === 0) return;
      const done = redis.multi();
      done.xack(key, GROUP, ...ids);
      done.xdel(key, ...ids);
      await done.exec();
    },
    outstanding: (pageSize, pages) => pointersIn(redis, key, pageSize, pages),
    load: () => loadOfStream(redis, key),
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
