import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** SQL of the daily quota that bulk jobs hold; migration 12 states the invariant. */

export interface HoldAnswer {
  /** False: nothing was held, not enough is left. */
  held: boolean;
  /** `YYYY-MM-DD`, UTC; null when the team is gone. */
  day: string | null;
  /** Units left of the day. */
  available: number;
  /** Units that processes have leased and not used, as far as reported: idle ones are back in seconds. */
  unspent: number;
  msToMidnight: number;
}

/** Holds `units` of the current day for a job of the transaction, all of them or none. */
export async function holdQuota(
  tx: Transaction,
  hold: { jobId: string; teamId: string; limit: number; units: number },
): Promise<HoldAnswer> {
  const [row] = await tx<
    [{ held: boolean; day: string | null; available: number; unspent: number; ms_to_midnight: number }]
  >`
    select held, day::text, available, unspent, ms_to_midnight
    from quota_hold(${hold.jobId}, ${hold.teamId}, ${hold.limit}, ${hold.units})`;
  const { ms_to_midnight: msToMidnight, ...answer } = row;
  return { ...answer, msToMidnight };
}

/** Ends a job's hold: `charged` of its units are used, the rest is released. Does nothing without a hold. */
export async function settleHold(sql: Queryable, jobId: string, charged: number): Promise<void> {
  await sql`select quota_settle_hold(${jobId}, ${charged})`;
}
