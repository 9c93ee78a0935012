import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { SlotSource } from "./slots.ts";

/** Slots that can be asked for before it is known which host they are for. */
export interface ForeseenSlots extends SlotSource {
  /**
   * A slot of `site` will soon be acquired: fetches one. It goes back when it is not acquired within `LIMITS.smtp.foreseenMs`, or when
   * another host or process wants it.
   */
  foresee(site: string, max: number): void;
}

interface Foreseen {
  granted: Promise<boolean>;
  expiry: Timer;
}

/**
 * The slots of `inner`. The first slot of a site can be fetched while the address of its host is looked up: the first connection to
 * a domain then waits for the longer of the two, not for both. A site has one such slot at most, and no holder is asked to give one
 * back for it.
 */
export function createForeseenSlots(inner: SlotSource, clock: Clock): ForeseenSlots {
  const foreseen = new Map<string, Foreseen>();

  /** @returns whether there was one and it was granted: it is the caller's now */
  async function take(site: string): Promise<boolean> {
    const known = foreseen.get(site);
    if (known === undefined) return false;
    known.expiry.cancel();
    foreseen.delete(site);
    return known.granted;
  }

  async function giveBack(site: string): Promise<void> {
    if (await take(site)) inner.release(site);
  }

  return {
    foresee(site, max) {
      if (foreseen.has(site) || foreseen.size >= LIMITS.smtp.foreseenSlots) return;
      const expiry = clock.after(LIMITS.smtp.foreseenMs, () => void giveBack(site));
      foreseen.set(site, { granted: inner.acquire(site, max, 0), expiry });
    },
    async acquire(site, max, waitMs) {
      return (foreseen.has(site) && (await take(site))) || inner.acquire(site, max, waitMs);
    },
    release: (site) => inner.release(site),
    onWanted(listener) {
      inner.onWanted((site, soon) => {
        if (foreseen.has(site)) void giveBack(site);
        else listener(site, soon);
      });
    },
  };
}
