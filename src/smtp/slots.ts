/**
 * Permission to hold connections to a site. A cap belongs to (site × egress) and is shared by all threads and
 * processes of that egress; whoever opens a connection holds one slot for as long as it is open.
 */
export interface SlotSource {
  /** Resolves when a slot of `site` is ours, at most `max` being out in all; false when `waitMs` passed. */
  acquire(site: string, max: number, waitMs: number): Promise<boolean>;
  release(site: string): void;
  /** `listener` is told when somebody else waits for a slot of `site`: give an idle connection back. */
  onWanted(listener: (site: string) => void): void;
}
