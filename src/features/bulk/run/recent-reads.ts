import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { ByteRange } from "../../../stores/objects/object-reads.ts";
import type { ObjectStreams } from "../../../stores/objects/object-streams.ts";
import type { JobObjects } from "../results/job-objects.ts";

/**
 * Recent reads for retries. If rows of many sites are mixed, a chunk has a retry for each site. A retry that another
 * process deferred reads the whole chunk from object storage, for a fiftieth of it. With eight workers, seven in eight
 * retries are such. Concurrent reads of the same chunk share one request.
 *
 * Only an optimisation. Memory: LIMITS.bulk.recentBytes, each read for at most twice LIMITS.bulk.recentMs.
 */
export interface RecentReads {
  /**
   * An error rejects all calls that wait for the read. If a call is cancelled, the next waiting one reads. Rejects with the
   * reason of `cancelled` even while another call reads.
   * @param key of content that never changes
   * @param read reads the content if it is not in memory; it must observe `cancelled` itself
   */
  read(key: string, read: () => Promise<Buffer>, cancelled?: AbortSignal): Promise<Buffer>;
  readonly heldBytes: number;
}

/**
 * Settles like `waiting`, or rejects with the reason of `cancelled`. Leaves no listener on that signal, which may live as
 * long as a job.
 */
function untilCancelled<T>(waiting: Promise<T>, cancelled: AbortSignal | undefined): Promise<T> {
  if (cancelled === undefined) return waiting;
  cancelled.throwIfAborted();
  return new Promise((resolve, reject) => {
    const cancel = () => reject(cancelled.reason);
    cancelled.addEventListener("abort", cancel, { once: true });
    void waiting.then(resolve, reject).finally(() => cancelled.removeEventListener("abort", cancel));
  });
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
  /** Reads that other calls wait for; null: the call that read was cancelled. */
  const underWay = new Map<string, Promise<Buffer | null>>();
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

  function readAnew(key: string, read: () => Promise<Buffer>, cancelled?: AbortSignal): Promise<Buffer> {
    // The entry of `underWay` is removed before a waiting call resumes.
    const reading = read()
      .then((bytes) => {
        kept.set(key, bytes);
        forgetLater();
        return bytes;
      })
      .finally(() => underWay.delete(key));
    const told = reading.catch((error: unknown) => {
      if (cancelled?.aborted) return null;
      throw error;
    });
    // There may be no waiting call: without this a rejection would end the process.
    told.catch(() => {});
    underWay.set(key, told);
    return reading;
  }

  return {
    async read(key, read, cancelled) {
      for (;;) {
        const found = kept.get(key);
        if (found !== undefined) return found;
        const others = underWay.get(key);
        if (others === undefined) return readAnew(key, read, cancelled);
        const bytes = await untilCancelled(others, cancelled);
        if (bytes !== null) return bytes;
      }
    },
    get heldBytes() {
      return kept.calculatedSize;
    },
  };
}

interface ReadParts {
  streams: Pick<ObjectStreams, "readRange">;
  objects: Pick<JobObjects, "getRange">;
}

/** The entity tag distinguishes successive objects with one key. */
const keyOf = (key: string, { firstByte, bytes }: ByteRange, etag = "") =>
  `${firstByte} ${bytes} ${etag} ${key}`;

/**
 * The same parts, reading through `recent`. A list in another owner's bucket is never cached: the grant may have been
 * withdrawn.
 */
export function withRecentReads<Parts extends ReadParts>(recent: RecentReads, parts: Parts): Parts {
  const { streams, objects } = parts;
  const readRange: ReadParts["streams"]["readRange"] = (ref, range, signal) => {
    const anew = () => streams.readRange(ref, range, signal);
    if (ref.bucket !== null) return anew();
    return recent.read(keyOf(ref.key, range, ref.etag), anew, signal);
  };
  const getRange: ReadParts["objects"]["getRange"] = (key, range, signal) =>
    recent.read(keyOf(key, range), () => objects.getRange(key, range, signal), signal);
  return { ...parts, streams: { ...streams, readRange }, objects: { ...objects, getRange } };
}
