import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { SlotSource } from "../smtp/slots.ts";
import { FairStart } from "./fair-start.ts";

/** What a thread asks for, see `SlotSource.acquire`. */
export interface SlotRequest {
  site: string;
  max: number;
  waitMs: number;
}

/** The slots of one check thread. */
export interface ThreadSlots {
  acquire(request: SlotRequest): Promise<boolean>;
  /** What it does not hold is ignored. */
  release(site: string): void;
  holds(site: string): boolean;
  /** The thread is no more: all that it held is free. */
  close(): void;
}

/** The slots of all check threads of a process: what each holds is on record, and none has much more than another. */
export interface SharedThreadSlots {
  /** @param tellWanted asks the thread to give a connection to the site back */
  attach(tellWanted: (site: string, soon: boolean) => void): ThreadSlots;
}

interface Thread {
  held: Map<string, number>;
  onWanted(site: string, soon: boolean): void;
  isClosed: boolean;
}

/** A slot on its way from a thread that has many to one that has few. */
interface Handover {
  from: Thread;
  to: Thread;
  max: number;
  /** Released, and asked for again in the name of `to`. */
  passing: boolean;
  timer: Timer;
  resolve(granted: boolean): void;
}

/**
 * Whoever comes first takes all slots of a site, and keeps them for as long as rows come; the other threads would serve
 * their half of the rows over a connection each. So a thread that asks for a further slot when none is free gets one from
 * the thread that has most, unless that would only turn the two round: with two fewer at least. It gives a connection back
 * that is idle, or the next that has ended a batch: since none is taken back, nobody need have had his time.
 */
export function createThreadSlots(slots: SlotSource, clock: Clock): SharedThreadSlots {
  const threads = new Set<Thread>();
  const handovers = new Map<string, Set<Handover>>();
  const evenStart = new FairStart(clock);

  slots.onWanted((site, soon) => {
    for (const thread of threads) if (thread.held.has(site)) thread.onWanted(site, soon);
  });

  /** What a thread will hold when all that is on its way has come. */
  function due(thread: Thread, site: string): number {
    let count = thread.held.get(site) ?? 0;
    for (const { from, to, passing } of handovers.get(site) ?? []) {
      if (to === thread) count += 1;
      else if (from === thread && !passing) count -= 1;
    }
    return count;
  }

  function richest(site: string): Thread | null {
    let found: Thread | null = null;
    for (const thread of threads)
      if (thread.held.has(site) && (found === null || due(thread, site) > due(found, site))) found = thread;
    return found;
  }

  function end(site: string, handover: Handover, granted: boolean): void {
    const all = handovers.get(site);
    all?.delete(handover);
    if (all?.size === 0) handovers.delete(site);
    handover.timer.cancel();
    handover.resolve(granted);
  }

  function handOver(from: Thread, to: Thread, { site, max }: SlotRequest): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = clock.after(LIMITS.slots.handoverMs, () => end(site, handover, false));
      const handover: Handover = { from, to, max, passing: false, timer, resolve };
      const all = handovers.get(site);
      if (all === undefined) handovers.set(site, new Set([handover]));
      else all.add(handover);
      from.onWanted(site, true);
    });
  }

  /** Asks for what was just released, before whoever released it can. */
  function passOn(site: string, from: Thread): void {
    for (const handover of handovers.get(site) ?? []) {
      if (handover.to === from || handover.passing) continue;
      const { to, max } = handover;
      handover.passing = true;
      // Others may have been promised it: other processes, and who waits for his first.
      void slots.acquire(site, max, 0).then((granted) => {
        const isWanted = handovers.get(site)?.has(handover) === true;
        if (granted && isWanted) note(to, site);
        else if (granted) slots.release(site);
        end(site, handover, granted);
      });
      return;
    }
  }

  function note(thread: Thread, site: string): void {
    thread.held.set(site, (thread.held.get(site) ?? 0) + 1);
  }

  /** Null: it may ask at once, as whoever has no connection to his host yet always may. */
  function turnAtStart(thread: Thread, { site, max, waitMs }: SlotRequest): Promise<void> | null {
    if (threads.size < 2) return null;
    const share = waitMs > 0 ? Number.POSITIVE_INFINITY : Math.ceil(max / threads.size);
    return evenStart.waitForShare(site, thread, richest(site) === null, share);
  }

  async function acquire(thread: Thread, request: SlotRequest): Promise<boolean> {
    const { site, max, waitMs } = request;
    const turn = turnAtStart(thread, request);
    if (turn !== null) {
      await turn;
      if (thread.isClosed) return false;
    }
    const granted = await slots.acquire(site, max, waitMs);
    if (thread.isClosed) {
      if (granted) slots.release(site);
      return false;
    }
    if (granted) {
      note(thread, site);
      return true;
    }
    const rich = waitMs > 0 ? null : richest(site);
    if (rich === null || due(rich, site) < due(thread, site) + 2) return false;
    return handOver(rich, thread, request);
  }

  function release(thread: Thread, site: string): void {
    const held = thread.held.get(site) ?? 0;
    if (held === 0) return;
    if (held === 1) thread.held.delete(site);
    else thread.held.set(site, held - 1);
    slots.release(site);
    passOn(site, thread);
  }

  function forget(thread: Thread): void {
    thread.isClosed = true;
    threads.delete(thread);
    for (const [site, all] of handovers)
      for (const handover of [...all]) if (handover.to === thread) end(site, handover, false);
    for (const [site, count] of [...thread.held]) for (let i = 0; i < count; i++) release(thread, site);
  }

  return {
    attach(tellWanted) {
      const thread: Thread = { held: new Map(), onWanted: tellWanted, isClosed: false };
      threads.add(thread);
      return {
        acquire: (request) => acquire(thread, request),
        release: (site) => release(thread, site),
        holds: (site) => thread.held.has(site),
        close: () => forget(thread),
      };
    },
  };
}
