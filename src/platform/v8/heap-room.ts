import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import type { LifecyclePart } from "../lifecycle.ts";

/** V8's flag: it collects an old generation that has grown by this percentage of its live size. 0: V8 decides. */
const GROWTH_FLAG = "--heap-growing-percent";
/** Set the flag only for a difference that matters. */
const STEP_PERCENT = 10;
/** However small the live size. */
const MAX_PERCENT = 200;

/**
 * @param liveBytes live size of the heap
 * @returns percentage by which it may grow: by `roomBytes`, or by its live size where that is larger; at most MAX_PERCENT
 */
export function growthPercent(liveBytes: number, roomBytes: number): number {
  return Math.round(Math.min(MAX_PERCENT, 100 * Math.max(1, roomBytes / liveBytes)));
}

/** The types of Node.js lack `detail`. */
type CollectionEntry = PerformanceEntry & { readonly detail: NodeGCPerformanceDetail };

function isMajor({ detail }: CollectionEntry): boolean {
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

export interface HeapRoomDeps {
  roomBytes: number;
  /** Live and not yet collected bytes in the heap of this thread. */
  heapBytes?: () => number;
  setPercent?: (percent: number) => void;
}

/**
 * Lets V8 wait until `roomBytes` have accumulated before it marks the heap of this thread. Heaps of other threads may grow
 * by the same share. It takes effect after the next collection. A heap that grew before that may once grow by the share of
 * its earlier size. V8 then ignores its other criteria, such as how near its limit a heap is; the limit itself holds.
 *
 * V8 sizes a heap by its live objects, and counts external memory, in buffers, against that. For lists answered from memory
 * it marked heaps of 15 to 30 MB 30 times for each million rows, mostly by its helper threads: a sixth of all CPU. A row
 * took 7.5 µs, and 6.5 with room, where it marks 8 times (medians of fifteen, in turn).
 */
export function createHeapRoom({
  roomBytes,
  heapBytes = () => getHeapStatistics().used_heap_size,
  setPercent = (percent) => setFlagsFromString(`${GROWTH_FLAG}=${percent}`),
}: HeapRoomDeps): LifecyclePart & { start(): void; stop(): void; collected(): void } {
  let set = 0;

  /** Call after a collection: the heap's size is then nearly its live size. */
  function collected(): void {
    const percent = growthPercent(heapBytes(), roomBytes);
    if (Math.abs(percent - set) < STEP_PERCENT) return;
    set = percent;
    setPercent(percent);
  }

  const observer = new PerformanceObserver((seen) => {
    if ((seen.getEntriesByType("gc") as CollectionEntry[]).some(isMajor)) collected();
  });
  return {
    name: "heap room",
    collected,
    start() {
      collected();
      observer.observe({ entryTypes: ["gc"] });
    },
    stop() {
      observer.disconnect();
      setPercent(0);
    },
  };
}
