/**
 * The few facts that every thread must see at once, in shared memory: whether our own network is down, when a mail
 * server last answered, and which checks were cancelled. One copy a process; all access is atomic.
 *
 * Layout (Int32): [0] 1 while our network is down; [1] epoch second of the last answer; [2...] one flag a check slot.
 */
const DOWN = 0;
const LAST_REACHED_S = 1;
const FLAGS = 2;

export interface Board {
  readonly shared: SharedArrayBuffer;
  networkDown(): boolean;
  setNetworkDown(down: boolean): void;
  /** Some mail server took our connection in this second of wall time. */
  noteReached(epochS: number): void;
  /** 0: none yet. */
  lastReachedS(): number;
  setCancelled(slot: number, cancelled: boolean): void;
  isCancelled(slot: number): boolean;
}

/** A new board for `checkSlots` checks at once. */
export function createBoard(checkSlots: number): Board {
  return openBoard(new SharedArrayBuffer((FLAGS + checkSlots) * Int32Array.BYTES_PER_ELEMENT));
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
    setCancelled(slot, cancelled) {
      Atomics.store(cells, FLAGS + slot, cancelled ? 1 : 0);
    },
    isCancelled: (slot) => Atomics.load(cells, FLAGS + slot) === 1,
  };
}
