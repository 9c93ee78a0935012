/**
 * State that all threads of a process must see at once, in shared memory: which egress routes are down, when a mail server last
 * accepted a connection over each, how long tasks waited for a thread, which tasks were cancelled or have to finish early, and
 * how many addresses of each are left. All access is atomic.
 *
 * Layout:
 * - four Int32: the number of routes; 1 while every route in use is down; the number of tasks that threads have started; the
 *   tenths of milliseconds these had waited. The last two wrap around at 2^32.
 * - a BigInt64 for each route: epoch milliseconds of the last connection.
 * - an Int32 for each route: 1 while it is down.
 * - two Int32 for each task slot: flags (1 cancelled, 2 finish early, 4 started by a thread), and the number of addresses
 *   without an answer.
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

/** A connection is recorded only if the last record is older than this: a load is cheaper than a store. */
const NOTED_FOR_MS = 10n;
/** Longer waits count as this long, so that the sum over all tasks that may wait at once fits into 32 bits of tenths. */
const WAIT_MAX_MS = 10_000;

/** A route is given by its index in `EgressRoutes.all`. */
export interface SharedBoard {
  readonly shared: SharedArrayBuffer;
  /** All egress routes in use are down. */
  isNetworkDown(): boolean;
  setNetworkDown(down: boolean): void;
  /** Nothing leaves by this route. */
  isRouteDown(route: number): boolean;
  setRouteDown(route: number, down: boolean): void;
  /** A mail server accepted a connection over this route at this wall time. */
  noteReached(route: number, epochMs: number): void;
  /** Wall time of the last accepted connection, to 10 ms; 0: none yet. */
  lastReachedMs(route: number): number;
  /** A thread starts the task, after the task waited `waitedMs` for it. */
  noteStarted(slot: number, waitedMs: number): void;
  isStarted(slot: number): boolean;
  /** The number of tasks started so far, and the tenths of milliseconds they had waited: both modulo 2^32. */
  started(): { tasks: number; waitedTenths: number };
  /** A task of `addresses` addresses takes the slot. */
  startTask(slot: number, addresses: number): void;
  cancel(slot: number): void;
  /** Asks the task to report the results it has now. No effect on a cancelled task. */
  finishEarly(slot: number): void;
  isCancelled(slot: number): boolean;
  /** Cancelled, or to finish early. */
  isHalted(slot: number): boolean;
  /** One more address of the task has its answer. */
  countAnswer(slot: number): void;
  /** Addresses of the task without an answer. */
  remaining(slot: number): number;
}

/** A new board for `taskSlots` tasks at once and `routes` egress routes. */
export function createSharedBoard(taskSlots: number, routes: number): SharedBoard {
  const bytesPerRoute = BigInt64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;
  const slotBytes = taskSlots * CELLS_PER_SLOT * Int32Array.BYTES_PER_ELEMENT;
  const shared = new SharedArrayBuffer(HEADER_BYTES + routes * bytesPerRoute + slotBytes);
  new Int32Array(shared)[ROUTES] = routes;
  return openSharedBoard(shared);
}

/** The same board, seen from another thread. */
export function openSharedBoard(shared: SharedArrayBuffer): SharedBoard {
  const header = new Int32Array(shared, 0, HEADER_CELLS);
  const routes = Atomics.load(header, ROUTES);
  const reached = new BigInt64Array(shared, HEADER_BYTES, routes);
  const cells = new Int32Array(shared, HEADER_BYTES + reached.byteLength);
  const flagsOf = (slot: number) => routes + slot * CELLS_PER_SLOT;
  const leftOf = (slot: number) => flagsOf(slot) + 1;
  const hasFlag = (slot: number, flags: number) => (Atomics.load(cells, flagsOf(slot)) & flags) !== 0;
  return {
    shared,
    isNetworkDown: () => Atomics.load(header, ALL_DOWN) === 1,
    setNetworkDown(down) {
      Atomics.store(header, ALL_DOWN, down ? 1 : 0);
    },
    isRouteDown: (route) => Atomics.load(cells, route) === 1,
    setRouteDown(route, down) {
      Atomics.store(cells, route, down ? 1 : 0);
    },
    noteReached(route, epochMs) {
      const now = BigInt(Math.floor(epochMs));
      if (now - Atomics.load(reached, route) >= NOTED_FOR_MS) Atomics.store(reached, route, now);
    },
    lastReachedMs: (route) => Number(Atomics.load(reached, route)),
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
