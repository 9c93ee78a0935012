import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/**
 * Permission to hold connections to a site. A cap belongs to (site × egress) and is shared by all threads and
 * processes of that egress; whoever opens a connection holds one slot for as long as it is open.
 */
export interface SlotSource {
  /**
   * Resolves when a slot of `site` is ours, at most `max` being out in all; false when `waitMs` passed, at once
   * when it is 0: then nobody is asked to give one back.
   */
  acquire(site: string, max: number, waitMs: number): Promise<boolean>;
  release(site: string): void;
  /**
   * `listener` is told when somebody waits for a slot of `site` (maybe in this very process, for another host of
   * the site): give an idle connection back.
   */
  onWanted(listener: (site: string) => void): void;
}

export interface LocalSlots extends SlotSource {
  /** Answers every waiter with false. */
  close(): void;
  stats(): { held: number; waiting: number };
}

interface Waiter {
  max: number;
  timer: Timer;
  resolve(granted: boolean): void;
}

interface SiteSlots {
  held: number;
  /** In order of arrival. */
  waiters: Set<Waiter>;
}

/** Slots of one process, first come, first served; a newcomer never overtakes a waiter. */
export function createLocalSlots(clock: Clock): LocalSlots {
  const sites = new Map<string, SiteSlots>();
  const listeners: ((site: string) => void)[] = [];
  let held = 0;
  let waiting = 0;

  function dismiss(name: string, site: SiteSlots, waiter: Waiter, granted: boolean): void {
    site.waiters.delete(waiter);
    waiting--;
    waiter.timer.cancel();
    if (granted) {
      site.held++;
      held++;
    } else forget(name, site);
    waiter.resolve(granted);
  }

  function forget(name: string, site: SiteSlots): void {
    if (site.held === 0 && site.waiters.size === 0) sites.delete(name);
  }

  function enqueue(name: string, site: SiteSlots, max: number, waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = clock.after(waitMs, () => dismiss(name, site, waiter, false));
      const waiter: Waiter = { max, timer, resolve };
      site.waiters.add(waiter);
      waiting++;
      for (const listener of listeners) listener(name);
    });
  }

  return {
    acquire(name, max, waitMs) {
      const site = sites.get(name) ?? { held: 0, waiters: new Set() };
      if (site.held < max && site.waiters.size === 0) {
        sites.set(name, site);
        site.held++;
        held++;
        return Promise.resolve(true);
      }
      if (waitMs <= 0 || site.waiters.size >= LIMITS.smtp.slotWaiters) return Promise.resolve(false);
      sites.set(name, site);
      return enqueue(name, site, max, waitMs);
    },

    release(name) {
      const site = sites.get(name);
      if (!site || site.held === 0) throw new Error(`a slot of ${name} was released that nobody held`);
      site.held--;
      held--;
      const [first] = site.waiters;
      if (first && site.held < first.max) dismiss(name, site, first, true);
      forget(name, site);
    },

    onWanted(listener) {
      listeners.push(listener);
    },

    close() {
      for (const [name, site] of sites) {
        for (const waiter of [...site.waiters]) dismiss(name, site, waiter, false);
      }
    },

    stats: () => ({ held, waiting }),
  };
}
