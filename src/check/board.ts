/**
 * The few facts that every thread must see at once, in shared memory: whether our own network is down, when a mail
 * server last answered, which tasks were cancelled or handed in, and how much of each is left. One copy a process; all
 * access is atomic.
 *
 * Layout (Int32): [0] 1 while our network is down; [1] epoch second of the last answer; then two cells a task's slot:
 * a flag (0 goes on, 1 cancelled, 2 handed in) and the number of its addresses without an answer.
 */
const DOWN = 0;
const LAST_REACHED_S = 1;
const SLOTS = 2;
const CELLS_PER_SLOT = 2;

const GOES_ON = 0;
const CANCELLED = 1;
const HANDED_IN = 2;

const flagOf = (slot: number) => SLOTS + slot * CELLS_PER_SLOT;
const leftOf = (slot: number) => flagOf(slot) + 1;

export interface Board {
  readonly shared: SharedArrayBuffer;
  networkDown(): boolean;
  setNetworkDown(down: boolean): void;
  /** Some mail server took our connection in this second of wall time. */
  noteReached(epochS: number): void;
  /** 0: none yet. */
  lastReachedS(): number;
  /** A task of `addresses` addresses takes the slot. */
  begin(slot: number, addresses: number): void;
  cancel(slot: number): void;
  /** What is known is wanted now. Has no effect on a cancelled task. */
  handIn(slot: number): void;
  isCancelled(slot: number): boolean;
  /** Cancelled or handed in. */
  isHalted(slot: number): boolean;
  /** One more of the task's addresses has its answer. */
  answered(slot: number): void;
  /** Addresses of the task without an answer. */
  left(slot: number): number;
}

/** A new board for `taskSlots` tasks at once. */
export function createBoard(taskSlots: number): Board {
  return openBoard(new SharedArrayBuffer(flagOf(taskSlots) * Int32Array.BYTES_PER_ELEMENT));
}

/** The same board, seen from another thread. */
export function openBoard(shared: SharedArrayBuffer): Board {
  const cells = new Int32Array(shared);
  return {
    shared,
    networkDown: () => Atomics.load(cells, DOWN) === 1,
    setNetworkDown(down) {
      Atomics.store(cells, DOWN, down ? 1 : 0);
    },
    noteReached(epochS) {
      // A load is cheaper than a store that takes the line from every other core.
      if (Atomics.load(cells, LAST_REACHED_S) !== epochS) Atomics.store(cells, LAST_REACHED_S, epochS);
    },
    lastReachedS: () => Atomics.load(cells, LAST_REACHED_S),
    begin(slot, addresses) {
      Atomics.store(cells, flagOf(slot), GOES_ON);
      Atomics.store(cells, leftOf(slot), addresses);
    },
    cancel(slot) {
      Atomics.store(cells, flagOf(slot), CANCELLED);
    },
    handIn(slot) {
      Atomics.compareExchange(cells, flagOf(slot), GOES_ON, HANDED_IN);
    },
    isCancelled: (slot) => Atomics.load(cells, flagOf(slot)) === CANCELLED,
    isHalted: (slot) => Atomics.load(cells, flagOf(slot)) !== GOES_ON,
    answered(slot) {
      Atomics.sub(cells, leftOf(slot), 1);
    },
    left: (slot) => Atomics.load(cells, leftOf(slot)),
  };
}
