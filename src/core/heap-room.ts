import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import type { Part } from "./lifecycle.ts";

/** What V8 calls it: it collects an old generation that has grown by so many per cent of what lived in it. 0: it decides. */
const GROWTH_FLAG = "--heap-growing-percent";
/** A flag is only set anew for a difference that matters. */
const STEP_PERCENT = 10;
/** However little lives in it. */
const MOST_PERCENT = 200;

/**
 * @param liveBytes what lives in the heap
 * @returns per cent by which it may grow: by `roomBytes`, or by as much as lives in it where that is more; MOST_PERCENT at most
 */
export function growthPercent(liveBytes: number, roomBytes: number): number {
  return Math.round(Math.min(MOST_PERCENT, 100 * Math.max(1, roomBytes / liveBytes)));
}

/** `detail` is not among the types of Node.js. */
type CollectionEntry = PerformanceEntry & { readonly detail: NodeGCPerformanceDetail };

function isMajor({ detail }: CollectionEntry): boolean {
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

export interface HeapRoomDeps {
  roomBytes: number;
  /** What lives in the heap of this thread, and what was not collected yet, bytes. */
  heapBytes?: () => number;
  setPercent?: (percent: number) => void;
}

/**
 * Lets V8 wait until `roomBytes` have come together before it marks the heap of this thread, and until those of the others have grown by
 * the same share. It holds for the time behind the next collection: a heap that has grown meanwhile gets as much more once as its size before
 * would have had. Whatever else V8 would go by, as how near its bound a heap is, it does not ask then; the bound itself holds.
 *
 * V8 sizes a heap by what lives in it, and has what lies outside, in buffers, count against that: of lists that are answered at hand it
 * marked heaps of 15 to 30 MB 30 times for each million rows, mostly by its four helper threads, and that was a sixth of all CPU: 7.5 us
 * a row, 6.5 with room (medians of fifteen, by turns), where it marks 8 times.
 */
export function createHeapRoom({
  roomBytes,
  heapBytes = () => getHeapStatistics().used_heap_size,
  setPercent = (percent) => setFlagsFromString(`${GROWTH_FLAG}=${percent}`),
}: HeapRoomDeps): Part & { start(): void; stop(): void; collected(): void } {
  let set = 0;

  /** To be called when the heap has been collected: then it is nearly what lives in it. */
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
