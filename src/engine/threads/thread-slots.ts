import { LIMITS } from "../../config/limits/limits.ts";
import { FairStart } from "../../egress/fair-start.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { SlotSource } from "../../smtp/pool/slots.ts";

/** A thread's request, see `SlotSource.acquire`. */
export interface SlotRequest {
  site: string;
  max: number;
  waitMs: number;
}

/** The slots of one check thread. */
export interface ThreadSlots {
  acquire(request: SlotRequest): Promise<boolean>;
  /** See `ThreadSlotSource.takeOver`. */
  takeOver(site: string, max: number): Promise<boolean>;
  /** Ignores a slot that the thread does not hold. See `ThreadSlotSource.release`. */
  release(site: string, hasWorked?: boolean): void;
  holds(site: string): boolean;
  /** The thread has ended: all its slots are free. */
  close(): void;
}

/** The slots of all check threads of a process. It records the slots of each, and shares them evenly. */
export interface SharedThreadSlots {
  /** @param tellWanted asks the thread to give a connection to the site back */
  attach(tellWanted: (site: string, soon: boolean) => void): ThreadSlots;
}

interface Thread {
  held: Map<string, number>;
  onWanted(site: string, soon: boolean): void;
  isClosed: boolean;
}

/** A slot that moves from a thread with many to one with few. */
interface Handover {
  from: Thread;
  to: Thread;
  max: number;
  /** How long `to` may wait once it was released: others may wait for it too. */
  waitMs: number;
  /** Only the slot of a connection that the server had accepted will do. */
  takesOver: boolean;
  /** Released, and asked for again in the name of `to`. */
  passing: boolean;
  timer: Timer;
  resolve(granted: boolean): void;
}

/**
 * The first thread would take all slots of a site and keep them for as long as rows come; the other threads would serve
 * their half of the rows over one connection each. So a thread that requests a further slot when none is free gets one from
 * the thread with the most. It must have two fewer, since otherwise the two would only swap. The other thread gives back an
 * idle connection, or the next one that has ended a batch. It need not wait for the slot's tenure, since the slot does not
 * return to it.
 */
export function createThreadSlots(slots: SlotSource, clock: Clock): SharedThreadSlots {
  return new EvenSlots(slots, clock);
}

class EvenSlots implements SharedThreadSlots {
  readonly #slots: SlotSource;
  readonly #clock: Clock;
  readonly #threads = new Set<Thread>();
  readonly #handovers = new Map<string, Set<Handover>>();
  readonly #fairStart: FairStart;

  constructor(slots: SlotSource, clock: Clock) {
    this.#slots = slots;
    this.#clock = clock;
    this.#fairStart = new FairStart(clock);
    slots.onWanted((site, soon) => {
      for (const thread of this.#threads) if (thread.held.has(site)) thread.onWanted(site, soon);
    });
  }

  attach(onWanted: Thread["onWanted"]): ThreadSlots {
    const thread: Thread = { held: new Map(), onWanted, isClosed: false };
    this.#threads.add(thread);
    return {
      acquire: (request) => this.#acquire(thread, request),
      takeOver: (site, max) => this.#takeOver(thread, site, max),
      release: (site, hasWorked = false) => this.#release(thread, site, hasWorked),
      holds: (site) => thread.held.has(site),
      close: () => this.#forget(thread),
    };
  }

  async #acquire(thread: Thread, request: SlotRequest): Promise<boolean> {
    const { site, max, waitMs } = request;
    const share = this.#waitForShare(thread, request);
    if (share !== null) {
      await share;
      if (thread.isClosed) return false;
    }
    const granted = await this.#slots.acquire(site, max, waitMs);
    if (thread.isClosed) {
      if (granted) this.#slots.release(site);
      return false;
    }
    if (granted) {
      addSlot(thread, site);
      return true;
    }
    const rich = waitMs > 0 ? null : this.#richest(site);
    if (rich === null || this.#expected(rich, site) < this.#expected(thread, site) + 2) return false;
    return this.#handOver(rich, thread, { site, max, waitMs: 0 });
  }

  async #takeOver(thread: Thread, site: string, max: number): Promise<boolean> {
    const rich = this.#richest(site, thread);
    if (rich === null || this.#expected(rich, site) < 1) return false;
    return this.#handOver(rich, thread, { site, max, waitMs: LIMITS.slots.handoverMs });
  }

  /** null: it may ask at once, as a thread without a connection to its host always may. */
  #waitForShare(thread: Thread, { site, max, waitMs }: SlotRequest): Promise<void> | null {
    if (this.#threads.size < 2) return null;
    const share = waitMs > 0 ? Number.POSITIVE_INFINITY : Math.ceil(max / this.#threads.size);
    return this.#fairStart.waitForShare(site, thread, this.#richest(site) === null, share);
  }

  #release(thread: Thread, site: string, hasWorked: boolean): void {
    const held = thread.held.get(site) ?? 0;
    if (held === 0) return;
    if (held === 1) thread.held.delete(site);
    else thread.held.set(site, held - 1);
    this.#slots.release(site);
    this.#passOn(site, thread, hasWorked);
    this.#continueTakeOvers(site, thread);
  }

  /** `from` gave back a slot, perhaps of a refused connection: asks for another one, until it has none. */
  #continueTakeOvers(site: string, from: Thread): void {
    for (const handover of [...(this.#handovers.get(site) ?? [])]) {
      if (handover.from !== from || !handover.takesOver || handover.passing) continue;
      if (from.held.has(site)) from.onWanted(site, true);
      else this.#end(site, handover, false);
    }
  }

  #forget(thread: Thread): void {
    thread.isClosed = true;
    this.#threads.delete(thread);
    for (const [site, all] of this.#handovers)
      for (const handover of [...all]) if (handover.to === thread) this.#end(site, handover, false);
    for (const [site, count] of [...thread.held])
      for (let i = 0; i < count; i++) this.#release(thread, site, true);
  }

  /** Slots that a thread will hold once every handover has ended. */
  #expected(thread: Thread, site: string): number {
    let count = thread.held.get(site) ?? 0;
    for (const { from, to, passing } of this.#handovers.get(site) ?? []) {
      if (to === thread) count += 1;
      else if (from === thread && !passing) count -= 1;
    }
    return count;
  }

  #richest(site: string, except?: Thread): Thread | null {
    let found: Thread | null = null;
    for (const thread of this.#threads) {
      if (thread === except) continue;
      const isRicher = found === null || this.#expected(thread, site) > this.#expected(found, site);
      if (thread.held.has(site) && isRicher) found = thread;
    }
    return found;
  }

  #handOver(from: Thread, to: Thread, { site, max, waitMs }: SlotRequest): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(LIMITS.slots.handoverMs, () => this.#end(site, handover, false));
      const takesOver = waitMs > 0;
      const handover: Handover = { from, to, max, waitMs, takesOver, passing: false, timer, resolve };
      const all = this.#handovers.get(site);
      if (all === undefined) this.#handovers.set(site, new Set([handover]));
      else all.add(handover);
      from.onWanted(site, true);
    });
  }

  /** Asks for a slot that was just released, before the thread that released it can. */
  #passOn(site: string, from: Thread, hasWorked: boolean): void {
    for (const handover of this.#handovers.get(site) ?? []) {
      const { to, max, waitMs, passing, takesOver } = handover;
      if (to === from || passing || (takesOver && !hasWorked)) continue;
      handover.passing = true;
      // The slot may go to another process, or to a waiter without any slot.
      void this.#slots.acquire(site, max, waitMs).then((granted) => {
        const isWanted = this.#handovers.get(site)?.has(handover) === true;
        if (granted && isWanted) addSlot(to, site);
        else if (granted) this.#slots.release(site);
        this.#end(site, handover, granted);
      });
      return;
    }
  }

  #end(site: string, handover: Handover, granted: boolean): void {
    const all = this.#handovers.get(site);
    all?.delete(handover);
    if (all?.size === 0) this.#handovers.delete(site);
    handover.timer.cancel();
    handover.resolve(granted);
  }
}

function addSlot(thread: Thread, site: string): void {
  thread.held.set(site, (thread.held.get(site) ?? 0) + 1);
}
