/**
 * The few facts that every thread must see at once, in shared memory: how our own network seems, when a trial
 * probe may next go out, and which checks were cancelled. One copy a process; all access is atomic.
 *
 * Layout (Int32): [0] a `NetworkState`; [1] second of the last trial; [2...] one flag a check slot.
 */
const NETWORK = 0;
const LAST_TRIAL_S = 1;
const FLAGS = 2;

/** `suspected`: failures are on record, so the next success is worth a message; when `fine`, none is sent. */
const NETWORK_STATES = ["fine", "suspected", "down"] as const;
export type NetworkState = (typeof NETWORK_STATES)[number];

export interface Board {
  readonly shared: SharedArrayBuffer;
  network(): NetworkState;
  setNetwork(state: NetworkState): void;
  /** True for exactly one caller of all threads every `everyS` seconds: that one may probe although we seem cut off. */
  takeTrial(nowS: number, everyS: number): boolean;
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
    network: () => NETWORK_STATES[Atomics.load(cells, NETWORK)] ?? "fine",
    setNetwork(state) {
      Atomics.store(cells, NETWORK, NETWORK_STATES.indexOf(state));
    },
    takeTrial(nowS, everyS) {
      const last = Atomics.load(cells, LAST_TRIAL_S);
      if (nowS - last < everyS) return false;
      return Atomics.compareExchange(cells, LAST_TRIAL_S, last, nowS) === last;
    },
    setCancelled(slot, cancelled) {
      Atomics.store(cells, FLAGS + slot, cancelled ? 1 : 0);
    },
    isCancelled: (slot) => Atomics.load(cells, FLAGS + slot) === 1,
  };
}
