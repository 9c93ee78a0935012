import { LIMITS } from "../../src/config/limits/limits.ts";
import type { Clock, Timer } from "../../src/platform/time/clock.ts";
import type { SlotSource } from "../../src/smtp/pool/slots.ts";

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

/** Slots of one process that no other shares. First come, first served: a new request never overtakes a waiter. */
export function createLocalSlots(clock: Clock): LocalSlots {
  const sites = new Map<string, SiteSlots>();
  const listeners: ((site: string, soon: boolean) => void)[] = [];
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
      for (const listener of listeners) listener(name, false);
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
