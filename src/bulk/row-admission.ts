import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { createRowSlots, type HeldRowSlots, type RowSlots } from "./row-slots.ts";

/** Rows that ask for slots: of a chunk, of a retry (`site` '': no common site), or of a chunk that stays until `untilMs`. */
export type SlotDemand =
  | { kind: "chunk" }
  | { kind: "retry"; site: string; stay?: { readonly untilMs: number } };

/** Slots held, for as many rows at once. */
export interface SlotGrant {
  held: readonly HeldRowSlots[];
  atOnce: number;
}

/** Bounds the rows that are under way at once in the process: those of chunks, and those of retries in all and at each site. */
export interface RowAdmission {
  /**
   * @param work with slots for those of `rows` that may be under way at once; it may give them back one by one
   * @returns null: they are a chunk's that stays, and its time is over or there are no slots: what waited for them would have the chunk's
   *   rows and its stay meanwhile, and others' retries behind it
   */
  withSlots<T>(demand: SlotDemand, rows: number, work: (turn: SlotGrant) => Promise<T>): Promise<T | null>;
}

export interface RowAdmissionDeps {
  clock: Pick<Clock, "monotonic">;
  /** Rows that keep a site's connections busy, at least 1: more of a retry at once would only stand in line there. */
  roomAt(site: string): number;
}

/** Each site's slots for retries: one slow site must not have all of them. Forgotten when nobody is there. */
function createSiteRowSlots() {
  const sites = new Map<string, { slots: RowSlots; users: number }>();
  return {
    async within<T>(site: string, work: (slots: RowSlots) => Promise<T>): Promise<T> {
      const entry = sites.get(site) ?? { slots: createRowSlots(LIMITS.bulk.siteRowsAtOnce), users: 0 };
      sites.set(site, entry);
      entry.users += 1;
      try {
        return await work(entry.slots);
      } finally {
        entry.users -= 1;
        if (entry.users === 0) sites.delete(site);
      }
    },
  };
}

/**
 * @param waits for slots that are not free
 * @param work with so many of each; it may give them back one by one
 * @returns null: it does not wait, and some are not free
 */
async function holdSlots<T>(
  all: readonly RowSlots[],
  { atOnce, waits }: { atOnce: number; waits: boolean },
  work: (turn: SlotGrant) => Promise<T>,
): Promise<T | null> {
  const held: HeldRowSlots[] = [];
  try {
    for (const slots of all) {
      const taken = waits ? await slots.acquire(atOnce) : slots.tryAcquire(atOnce);
      if (taken === null) return null;
      held.push(taken);
    }
    return await work({ held, atOnce });
  } finally {
    for (const slots of held) slots.shrinkTo(0);
  }
}

export function createRowAdmission(deps: RowAdmissionDeps): RowAdmission {
  const chunkSlots = createRowSlots(LIMITS.bulk.chunkRowsAtOnce);
  const retrySlots = createRowSlots(LIMITS.bulk.retryRowsAtOnce);
  const staySlots = createRowSlots(LIMITS.bulk.stayRowsAtOnce);
  const siteSlots = createSiteRowSlots();

  /**
   * Of so many rows those that are under way at once. A list that is sorted by domain has retries of hundreds of rows of one
   * small site each: with a place for each row a few sites had them all (20,000 rows of 50 sites of a connection each: 490 rows/s, 11
   * to 16 retries at a time and up to 45 waiting; 1,250 with slots for what keeps each site busy, all 50 at a time).
   */
  function concurrencyOf(demand: SlotDemand, rows: number): number {
    return demand.kind === "chunk" || demand.site === "" ? rows : Math.min(rows, deps.roomAt(demand.site));
  }

  return {
    async withSlots<T>(
      demand: SlotDemand,
      rows: number,
      work: (turn: SlotGrant) => Promise<T>,
    ): Promise<T | null> {
      const atOnce = concurrencyOf(demand, rows);
      if (demand.kind === "chunk") return holdSlots([chunkSlots], { atOnce, waits: true }, work);
      const { site, stay } = demand;
      if (stay === undefined)
        return siteSlots.within(site, (at) => holdSlots([at, retrySlots], { atOnce, waits: true }, work));
      if (deps.clock.monotonic() >= stay.untilMs) return null;
      return siteSlots.within(site, (at) =>
        holdSlots([at, staySlots, retrySlots], { atOnce, waits: false }, work),
      );
    },
  };
}
