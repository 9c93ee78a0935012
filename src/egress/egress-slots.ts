import { LIMITS } from "../config/limits/limits.ts";
import type { Logger } from "../platform/log.ts";
import type { Clock, Timer } from "../platform/time/clock.ts";
import type { SlotSource } from "../smtp/pool/slots.ts";
import type { SiteCaps } from "./site-caps.ts";
import { SiteSlots, type SlotWaiter } from "./site-slots.ts";
import type { SlotAnswer, SlotLeases, SlotStatement } from "./slot-leases.ts";
import { SlotReports } from "./slot-reports.ts";

/**
 * This process's share of the slots of all processes of the egress. A request is granted at once from an idle leased slot,
 * else from the store: one call at a time for a site, all sites of a tick in one, and no more slots than are requested. A
 * released slot stays leased for a short while, so that the next connection costs no call; then it is given back.
 *
 * Waiters of this process are served in order of arrival. When a site is full, a waiter presses the holders in this
 * process, and this process queues at the store, which notifies the other holders. A notified process gives its idle slots
 * back at once. If it has no idle slot, and uses more slots than the requesting process, it presses a holder and *owes* the
 * next released slot. That slot goes to the store, not to a waiter here, and the waiters here queue behind the other
 * process.
 *
 * While the store is unreachable, a process keeps the slots it holds, and may use LIMITS.slots.slotsWithoutStore of a site
 * without a slot. Once the store answers, the process states all its slots; surplus ones are given back as connections end.
 */
export interface EgressSlots extends SlotSource {
  /** Begins to follow the other processes. */
  start(): void;
  /** A connection to `site` was refused, or given up, because too many are open. */
  onCrowded(site: string): void;
  /** Answers every waiter with false and gives all leases back, also those of slots in use. Never rejects. */
  close(): Promise<void>;
  stats(): { held: number; waiting: number };
}

export interface EgressSlotsDeps {
  leases: SlotLeases;
  /** Maximum slots that this process may hold at a site, independent of other processes. */
  caps: SiteCaps;
  clock: Clock;
  log: Logger;
}

class SharedSlots implements EgressSlots {
  readonly #leases: SlotLeases;
  readonly #caps: SiteCaps;
  readonly #clock: Clock;
  readonly #reports: SlotReports;
  readonly #sites = new Map<string, SiteSlots>();
  readonly #listeners: ((site: string, soon: boolean) => void)[] = [];
  #tickTimer: Timer | null = null;
  #closed = false;

  constructor({ leases, caps, clock, log }: EgressSlotsDeps) {
    this.#leases = leases;
    this.#caps = caps;
    this.#clock = clock;
    this.#reports = new SlotReports({
      leases,
      clock,
      log,
      onAnswer: (site, statement, answer) => this.#onAnswer(site, statement, answer),
      onLost: () => this.#onStoreLost(),
      onRestored: () => {
        for (const site of this.#sites.values()) if (site.queue.size > 0) this.#fetchSlots(site);
      },
    });
  }

  start(): void {
    this.#leases.listen({
      onWanted: (name, holds) => this.#onWantedElsewhere(name, holds),
      onFreed: (name) => {
        const site = this.#sites.get(name);
        if (site?.hasWaiter) this.#fetchSlots(site);
      },
    });
  }

  acquire(name: string, max: number, waitMs: number): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    const site = this.#sites.get(name) ?? new SiteSlots(name);
    site.max = max;
    site.share = this.#caps.limit(name, max, site.used);
    if (site.queue.size === 0 && site.take()) return Promise.resolve(true);
    if (site.queue.size >= LIMITS.smtp.slotWaiters) return Promise.resolve(false);
    if (waitMs <= 0 && this.#hasNoChance(site)) return Promise.resolve(false);
    this.#sites.set(name, site);
    this.#scheduleTick();
    return new Promise((resolve) => this.#enqueue(site, waitMs, resolve));
  }

  release(name: string): void {
    const site = this.#sites.get(name);
    if (!site || site.used === 0) throw new Error(`a slot of ${name} was released that nobody held`);
    site.used--;
    if (this.#closed) return;
    if (site.owed > 0) {
      site.owed--;
      this.#reports.markChanged(site);
      return;
    }
    site.addIdle(1, this.#clock.monotonic());
    this.#serve(site);
  }

  onCrowded(name: string): void {
    const site = this.#sites.get(name);
    if (!site || site.used === 0) return;
    this.#caps.onCrowded(name, site.used);
    site.share = this.#caps.limit(name, site.max, site.used);
    if (site.hasQueue) this.#askForExcess(site);
  }

  onWanted(listener: (site: string, soon: boolean) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tickTimer?.cancel();
    for (const site of this.#sites.values()) {
      for (const applicant of [...site.queue]) this.#settle(site, applicant, false);
    }
    await this.#reports.close(this.#sites.values());
  }

  stats(): { held: number; waiting: number } {
    let held = 0;
    let waiting = 0;
    for (const site of this.#sites.values()) {
      held += site.used;
      waiting += site.queue.size;
    }
    return { held, waiting };
  }

  /** Asking for a slot without waiting for it would be in vain. */
  #hasNoChance(site: SiteSlots): boolean {
    return site.held >= site.limit || site.hasQueue || this.#clock.monotonic() < site.refusedUntil;
  }

  #enqueue(site: SiteSlots, waitMs: number, resolve: (granted: boolean) => void): void {
    const applicant: SlotWaiter = { timer: null, hasAskedHolders: false, resolve };
    if (waitMs > 0) {
      applicant.timer = this.#clock.after(waitMs, () => {
        this.#settle(site, applicant, false);
        this.#forget(site);
      });
    }
    site.queue.add(applicant);
    this.#fetchSlots(site);
  }

  #settle(site: SiteSlots, applicant: SlotWaiter, granted: boolean): void {
    site.queue.delete(applicant);
    applicant.timer?.cancel();
    applicant.resolve(granted);
    if (site.isQueuedAtStore && !site.hasWaiter) this.#reports.markChanged(site);
  }

  #forget(site: SiteSlots): void {
    if (site.held > 0 || site.queue.size > 0 || site.isQueuedAtStore || this.#reports.isPending(site)) return;
    this.#sites.delete(site.name);
  }

  #serve(site: SiteSlots): void {
    for (const applicant of site.queue) {
      if (!site.take()) return;
      this.#settle(site, applicant, true);
    }
  }

  /** Gets slots for the requests in the queue: from the store, or without it. */
  #fetchSlots(site: SiteSlots): void {
    if (this.#reports.isStoreDown) this.#serveWithoutStore(site);
    else if (site.held < site.limit) this.#reports.markChanged(site);
    else this.#refuse(site);
  }

  #serveWithoutStore(site: SiteSlots): void {
    // The store may still grant slots in its answer to the pending statement.
    if (site.isReporting) return;
    const may = Math.min(site.limit, LIMITS.slots.slotsWithoutStore);
    if (site.queue.size > 0 && site.held < may) site.addIdle(may - site.held, this.#clock.monotonic());
    this.#serve(site);
    this.#refuse(site);
  }

  /** No slot is free: a request that does not wait is refused. One that waits asks the holders in this process, once. */
  #refuse(site: SiteSlots): void {
    if (site.hasWaiter && !site.hasQueue) this.#askForExcess(site);
    for (const applicant of [...site.queue]) {
      if (applicant.hasAskedHolders || !site.queue.has(applicant)) continue;
      if (applicant.timer === null) {
        this.#settle(site, applicant, false);
        continue;
      }
      applicant.hasAskedHolders = true;
      this.#askForReturn(site);
    }
    this.#forget(site);
  }

  /** Asks for slots above a lowered cap once a request waits: such a slot cannot be granted to the request. */
  #askForExcess(site: SiteSlots): void {
    for (let above = site.used - site.limit; above > 0; above--) this.#askForReturn(site);
  }

  #askForReturn(site: SiteSlots): void {
    for (const listener of this.#listeners) listener(site.name, false);
  }

  #onAnswer(site: SiteSlots, statement: SlotStatement, { granted, excess }: SlotAnswer): void {
    const now = this.#clock.monotonic();
    site.addIdle(granted, now);
    const before = site.used;
    this.#serve(site);
    // The request for a slot may have left the queue during the call.
    if (site.dropIdle(granted - (site.used - before)) > 0) this.#reports.markChanged(site);
    const refused = granted < statement.want;
    site.isQueuedAtStore = refused && statement.waiting;
    if (refused) {
      site.refusedUntil = now + LIMITS.slots.refusalMs;
      if (statement.announce) site.announcedAt = now;
      this.#refuse(site);
    } else if (site.queue.size > 0) this.#fetchSlots(site);
    if (site.isQueuedAtStore && !site.hasWaiter) this.#reports.markChanged(site);
    if (excess > 0) this.#owe(site, excess);
    this.#forget(site);
  }

  /** Another process, which holds `holds`, waits for one more. */
  #onWantedElsewhere(name: string, holds: number): void {
    const site = this.#sites.get(name);
    if (!site || this.#closed || this.#reports.isStoreDown) return;
    if (site.idle > 0) this.#owe(site, site.idle);
    else if (site.used - site.owed > holds) this.#owe(site, site.owed + 1);
  }

  /** Gives `count` slots to other processes: idle ones at once, used ones when their connections end. */
  #owe(site: SiteSlots, count: number): void {
    const dropped = site.dropIdle(count);
    if (dropped > 0) this.#reports.markChanged(site);
    const due = Math.min(site.used, count - dropped) - site.owed;
    if (due <= 0) return;
    site.owed += due;
    for (let i = 0; i < due; i++) this.#askForReturn(site);
  }

  /** A request may have waited long enough for a learnt cap to grow. */
  #widen(site: SiteSlots): void {
    const before = site.share;
    site.share = this.#caps.limit(site.name, site.max, site.used);
    if (site.share <= before) return;
    this.#serve(site);
    if (site.hasWaiter) this.#fetchSlots(site);
  }

  #onStoreLost(): void {
    this.#scheduleTick();
    for (const site of [...this.#sites.values()]) {
      site.owed = 0;
      site.isQueuedAtStore = false;
      this.#serveWithoutStore(site);
    }
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    this.#tickTimer ??= this.#clock.after(LIMITS.slots.intervalMs, () => {
      this.#tickTimer = null;
      this.#onTick();
      if (this.#sites.size > 0 || this.#reports.isStoreDown) this.#scheduleTick();
    });
  }

  /** Idle slots go back, leases are renewed, and sites with waiting requests ask again. */
  #onTick(): void {
    this.#reports.reconnect(this.#sites.values());
    if (this.#reports.isStoreDown) return;
    const now = this.#clock.monotonic();
    for (const site of this.#sites.values()) {
      if (site.hasWaiter) this.#widen(site);
      if (site.dropSpare(now) > 0 || site.isReportDue(now)) this.#reports.markChanged(site);
    }
  }
}

export function createEgressSlots(deps: EgressSlotsDeps): EgressSlots {
  return new SharedSlots(deps);
}
