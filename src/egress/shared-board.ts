/**
 * The few facts that every thread must see at once, in shared memory: by which ways out nothing leaves, when a mail
 * server last took a connection on each, how long checks of requests waited for a thread, which tasks were cancelled or
 * handed in, and how much of each is left. One copy a process; all access is atomic.
 *
 * Layout: four Int32 [number of ways; 1 while every way in use is down; checks of requests that threads have begun; tenths of
 * milliseconds they had waited for that; both begin again at 0 when they are full], a BigInt64 for each way (epoch milliseconds of the
 * last connection), an Int32 for each way (1 while nothing leaves by it), then two Int32 a task's slot: flags (1 cancelled,
 * 2 handed in, 4 a thread has started it) and the number of its addresses without an answer.
 */
const ROUTES = 0;
const ALL_DOWN = 1;
const STARTED = 2;
const WAITED = 3;
const HEADER_CELLS = 4;
const HEADER_BYTES = HEADER_CELLS * Int32Array.BYTES_PER_ELEMENT;
const CELLS_PER_SLOT = 2;

const CANCELLED = 1;
const FINISHING_EARLY = 2;
const STARTED_BY_THREAD = 4;

/** A connection is noted again when the last note is older than this: a load is cheaper than a store. */
const NOTED_FOR_MS = 10n;
/** A wait counts as no longer than this: so all that may wait at once fits into 32 bits of tenths. */
const WAIT_MAX_MS = 10_000;

/** Ways are told by their index in `Paths.all`. */
export interface SharedBoard {
  readonly shared: SharedArrayBuffer;
  /** Nothing leaves by any way in use. */
  isNetworkDown(): boolean;
  setNetworkDown(down: boolean): void;
  /** Nothing leaves by this way. */
  isRouteDown(way: number): boolean;
  setRouteDown(way: number, down: boolean): void;
  /** Some mail server took our connection by this way at this wall time. */
  noteReached(way: number, epochMs: number): void;
  /** Wall time of the last one, to 10 ms; 0: none yet. */
  lastReachedMs(way: number): number;
  /** A thread starts the task, which had waited so long for it. */
  noteStarted(slot: number, waitedMs: number): void;
  isStarted(slot: number): boolean;
  /** Tasks that were started so far, and tenths of milliseconds they had waited: both modulo 2^32. */
  started(): { tasks: number; waitedTenths: number };
  /** A task of `addresses` addresses takes the slot. */
  startTask(slot: number, addresses: number): void;
  cancel(slot: number): void;
  /** What is known is wanted now. Has no effect on a cancelled task. */
  finishEarly(slot: number): void;
  isCancelled(slot: number): boolean;
  /** Cancelled or handed in. */
  isHalted(slot: number): boolean;
  /** One more of the task's addresses has its answer. */
  countAnswer(slot: number): void;
  /** Addresses of the task without an answer. */
  remaining(slot: number): number;
}

/** A new board for `taskSlots` tasks at once and `ways` ways out. */
export function createSharedBoard(taskSlots: number, ways: number): SharedBoard {
  const bytesPerWay = BigInt64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;
  const slotBytes = taskSlots * CELLS_PER_SLOT * Int32Array.BYTES_PER_ELEMENT;
  const shared = new SharedArrayBuffer(HEADER_BYTES + ways * bytesPerWay + slotBytes);
  new Int32Array(shared)[ROUTES] = ways;
  return openSharedBoard(shared);
}

/** The same board, seen from another thread. */
export function openSharedBoard(shared: SharedArrayBuffer): SharedBoard {
  const header = new Int32Array(shared, 0, HEADER_CELLS);
  const ways = Atomics.load(header, ROUTES);
  const reached = new BigInt64Array(shared, HEADER_BYTES, ways);
  const cells = new Int32Array(shared, HEADER_BYTES + reached.byteLength);
  const flagsOf = (slot: number) => ways + slot * CELLS_PER_SLOT;
  const leftOf = (slot: number) => flagsOf(slot) + 1;
  const hasFlag = (slot: number, flags: number) => (Atomics.load(cells, flagsOf(slot)) & flags) !== 0;
  return {
    shared,
    isNetworkDown: () => Atomics.load(header, ALL_DOWN) === 1,
    setNetworkDown(down) {
      Atomics.store(header, ALL_DOWN, down ? 1 : 0);
    },
    isRouteDown: (way) => Atomics.load(cells, way) === 1,
    setRouteDown(way, down) {
      Atomics.store(cells, way, down ? 1 : 0);
    },
    noteReached(way, epochMs) {
      const now = BigInt(Math.floor(epochMs));
      if (now - Atomics.load(reached, way) >= NOTED_FOR_MS) Atomics.store(reached, way, now);
    },
    lastReachedMs: (way) => Number(Atomics.load(reached, way)),
    noteStarted(slot, waitedMs) {
      Atomics.add(header, WAITED, Math.round(Math.min(WAIT_MAX_MS, Math.max(0, waitedMs)) * 10));
      Atomics.add(header, STARTED, 1);
      Atomics.or(cells, flagsOf(slot), STARTED_BY_THREAD);
    },
    isStarted: (slot) => hasFlag(slot, STARTED_BY_THREAD),
    started: () => ({
      tasks: Atomics.load(header, STARTED) >>> 0,
      waitedTenths: Atomics.load(header, WAITED) >>> 0,
    }),
    startTask(slot, addresses) {
      Atomics.store(cells, flagsOf(slot), 0);
      Atomics.store(cells, leftOf(slot), addresses);
    },
    cancel(slot) {
      Atomics.or(cells, flagsOf(slot), CANCELLED);
    },
    finishEarly(slot) {
      Atomics.or(cells, flagsOf(slot), FINISHING_EARLY);
    },
    isCancelled: (slot) => hasFlag(slot, CANCELLED),
    isHalted: (slot) => hasFlag(slot, CANCELLED | FINISHING_EARLY),
    countAnswer(slot) {
      Atomics.sub(cells, leftOf(slot), 1);
    },
    remaining: (slot) => Atomics.load(cells, leftOf(slot)),
  };
}
