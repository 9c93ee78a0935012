/**
 * Permission to hold connections to a site. A cap belongs to (site × egress), or to (site × way × egress) where a site
 * has several ways of its own; `site` is its key here (`Paths.capOf`). It is shared by all threads and
 * processes of that egress; whoever opens a connection holds one slot for as long as it is open.
 */
export interface SlotSource {
  /**
   * Resolves when a slot of `site` is ours, at most `max` being out in all; false when `waitMs` passed. When it is 0,
   * false as soon as it is known that none is free: then nobody is asked to give one back.
   */
  acquire(site: string, max: number, waitMs: number): Promise<boolean>;
  release(site: string): void;
  /**
   * `listener` is told when somebody waits for a slot of `site` (maybe in this very process, for another host of
   * the site, maybe in another one): give an idle connection back. `soon`: also one that has not been used for long; it
   * goes to another thread of ours that has fewer, and does not come back.
   */
  onWanted(listener: (site: string, soon: boolean) => void): void;
}
