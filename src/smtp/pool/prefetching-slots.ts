import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { SlotSource } from "./slots.ts";

/** Slots that can be requested before the host they are for is known. */
export interface PrefetchingSlotSource extends SlotSource {
  /**
   * A slot of `site` will soon be acquired: fetches one. It is released when not acquired within
   * `LIMITS.smtp.prefetchedSlotMs`, or when another host or process wants it.
   */
  prefetch(site: string, max: number): void;
}

interface PrefetchedSlot {
  granted: Promise<boolean>;
  expiry: Timer;
}

/**
 * The slots of `inner`, plus prefetching: the first slot of a site is fetched while its host's address is looked up. The
 * first connection to a domain then waits for the longer of the two, not for both. A site has at most one such slot, and no
 * holder is asked to give one back for it.
 */
export function createPrefetchingSlots(inner: SlotSource, clock: Clock): PrefetchingSlotSource {
  const prefetched = new Map<string, PrefetchedSlot>();

  /** @returns true when a prefetched slot was granted: it now belongs to the caller */
  async function take(site: string): Promise<boolean> {
    const known = prefetched.get(site);
    if (known === undefined) return false;
    known.expiry.cancel();
    prefetched.delete(site);
    return known.granted;
  }

  async function giveBack(site: string): Promise<void> {
    if (await take(site)) inner.release(site);
  }

  return {
    prefetch(site, max) {
      if (prefetched.has(site) || prefetched.size >= LIMITS.smtp.prefetchedSlots) return;
      const expiry = clock.after(LIMITS.smtp.prefetchedSlotMs, () => void giveBack(site));
      prefetched.set(site, { granted: inner.acquire(site, max, 0), expiry });
    },
    async acquire(site, max, waitMs) {
      return (prefetched.has(site) && (await take(site))) || inner.acquire(site, max, waitMs);
    },
    release: (site) => inner.release(site),
    onWanted(listener) {
      inner.onWanted((site, soon) => {
        if (prefetched.has(site)) void giveBack(site);
        else listener(site, soon);
      });
    },
  };
}
