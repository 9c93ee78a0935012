/**
 * Permission to hold connections to a site. A cap belongs to (site × egress), or to (site × route × egress) where a site
 * has several routes of its own; `site` is its key here (`EgressRoutes.capOf`). All threads and processes of that egress
 * share it. A connection holds one slot for as long as it is open.
 */
export interface SlotSource {
  /**
   * Resolves to true when a slot of `site` is granted, with at most `max` granted in all; false after `waitMs`. With `waitMs` 0,
   * false as soon as no slot is known to be free; no holder is then asked to give one back.
   */
  acquire(site: string, max: number, waitMs: number): Promise<boolean>;
  release(site: string): void;
  /**
   * Calls `listener` when a waiter needs a slot of `site` (another host of the site in this process, or another process):
   * give an idle connection back. `isSoon`: also one that was used recently; its slot moves to another of our threads that
   * has fewer, and does not return.
   */
  onWanted(listener: (site: string, isSoon: boolean) => void): void;
}

/** The slots of one thread. */
export interface ThreadSlotSource extends SlotSource {
  /** @param hasWorked the server had accepted the connection; without it, no other thread's would be accepted in its place */
  release(site: string, hasWorked?: boolean): void;
  /**
   * Resolves to true when another thread of this process has closed a working connection to `site`, and a slot is ours;
   * false when no other thread holds one that is not promised, or no slot came within `LIMITS.slots.handoverMs`.
   */
  takeOver(site: string, max: number): Promise<boolean>;
}
