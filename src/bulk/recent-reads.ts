import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { JobObjects } from "../store/job-objects.ts";
import type { ObjectStreams } from "../store/object-streams.ts";

/**
 * What was read for a retry lately. Where rows of many sites stand among each other a chunk has a retry for each of these, and one
 * that another process put off is read from object storage: all of its chunk, for a fiftieth of it. Of eight workers seven in eight
 * retries are such. Those that come together read it once.
 *
 * Nothing depends on it. Memory: LIMITS.bulk.recentBytes, none of it for longer than twice LIMITS.bulk.recentMs.
 */
export interface RecentReads {
  /**
   * @param key of what never changes
   * @param read brings it, where it is not at hand
   */
  read(key: string, read: () => Promise<Buffer>): Promise<Buffer>;
  readonly heldBytes: number;
}

export function createRecentReads(clock: Clock): RecentReads {
  const { recentBytes, recentMs } = LIMITS.bulk;
  const kept = new LRUCache<string, Buffer>({
    maxSize: recentBytes,
    sizeCalculation: ({ length }, key) => length + 2 * key.length,
    ttl: recentMs,
    ttlResolution: 0,
    perf: { now: () => clock.monotonic() },
  });
  const underWay = new Map<string, Promise<Buffer>>();
  let isForgetting = false;

  function forgetLater(): void {
    if (isForgetting || kept.size === 0) return;
    isForgetting = true;
    clock.after(recentMs, () => {
      isForgetting = false;
      kept.purgeStale();
      forgetLater();
    });
  }

  async function readAnew(key: string, read: () => Promise<Buffer>): Promise<Buffer> {
    const reading = read();
    underWay.set(key, reading);
    try {
      const bytes = await reading;
      kept.set(key, bytes);
      forgetLater();
      return bytes;
    } finally {
      if (underWay.get(key) === reading) underWay.delete(key);
    }
  }

  return {
    async read(key, read) {
      const found = kept.get(key);
      if (found !== undefined) return found;
      const others = underWay.get(key);
      if (others === undefined) return readAnew(key, read);
      // Who reads may be cancelled, which is nobody else's affair: then each reads for himself.
      return (await others.catch(() => null)) ?? readAnew(key, read);
    },
    get heldBytes() {
      return kept.calculatedSize;
    },
  };
}

interface Reading {
  streams: Pick<ObjectStreams, "readRange">;
  objects: Pick<JobObjects, "getRange">;
}

/** The same parts, reading through `recent`. A list in somebody else's bucket is read anew each time: it may be ours to read no longer. */
export function readingThrough<Parts extends Reading>(recent: RecentReads, parts: Parts): Parts {
  const { streams, objects } = parts;
  const readRange: Reading["streams"]["readRange"] = (ref, range, signal) => {
    const anew = () => streams.readRange(ref, range, signal);
    if (ref.bucket !== null) return anew();
    return recent.read(`${ref.key} ${range.firstByte} ${range.bytes}`, anew);
  };
  const getRange: Reading["objects"]["getRange"] = (key, range, signal) =>
    recent.read(`${key} ${range.firstByte} ${range.bytes}`, () => objects.getRange(key, range, signal));
  return { ...parts, streams: { ...streams, readRange }, objects: { ...objects, getRange } };
}
