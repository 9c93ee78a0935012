import { LIMITS } from "../../../config/limits/limits.ts";
import { createRowSlots, type HeldRowSlots, type RowSlots } from "./row-slots.ts";

/** Rows that ask for slots: of a chunk, or of a retry (`site` '': no common site). */
export type SlotDemand = { kind: "chunk" } | { kind: "retry"; site: string };

/** Slots held, for as many rows at once. */
export interface SlotGrant {
  held: readonly HeldRowSlots[];
  atOnce: number;
}

/** Bounds the concurrent rows of the process: rows of chunks, and rows of retries in all and at each site. */
export interface RowAdmission {
  /** @param work gets slots for the rows of `rows` that may run at once; it may give them back one by one */
  withSlots<T>(demand: SlotDemand, rows: number, work: (turn: SlotGrant) => Promise<T>): Promise<T>;
}

export interface RowAdmissionDeps {
  /** Number of rows that keep a site's connections busy, at least 1: more rows of a retry would only queue there. */
  roomAt(site: string): number;
}

/** Each site's slots for retries: one slow site must not have all of them. A site without rows is forgotten. */
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

/** @param work gets `atOnce` slots of each; it may give them back one by one */
async function holdSlots<T>(
  all: readonly RowSlots[],
  atOnce: number,
  work: (turn: SlotGrant) => Promise<T>,
): Promise<T> {
  const held: HeldRowSlots[] = [];
  try {
    for (const slots of all) held.push(await slots.acquire(atOnce));
    return await work({ held, atOnce });
  } finally {
    for (const slots of held) slots.shrinkTo(0);
  }
}

export function createRowAdmission(deps: RowAdmissionDeps): RowAdmission {
  const chunkSlots = createRowSlots(LIMITS.bulk.chunkRowsAtOnce);
  const retrySlots = createRowSlots(LIMITS.bulk.retryRowsAtOnce);
  const siteSlots = createSiteRowSlots();

  /**
   * Number of `rows` rows that run at once. A list that is sorted by domain has retries of hundreds of rows of one small
   * site each. With a slot for each row, a few sites held all slots (20,000 rows of 50 sites with one connection each: 490
   * rows/s, 11 to 16 retries at a time and up to 45 waiting). With slots only for the rows that keep each site busy, all 50
   * ran at a time: 1,250 rows/s.
   */
  function concurrencyOf(demand: SlotDemand, rows: number): number {
    return demand.kind === "chunk" || demand.site === "" ? rows : Math.min(rows, deps.roomAt(demand.site));
  }

  return {
    withSlots(demand, rows, work) {
      const atOnce = concurrencyOf(demand, rows);
      if (demand.kind === "chunk") return holdSlots([chunkSlots], atOnce, work);
      return siteSlots.within(demand.site, (at) => holdSlots([at, retrySlots], atOnce, work));
    },
  };
}
