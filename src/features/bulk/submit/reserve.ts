import { LIMITS } from "../../../config/limits/limits.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
import type { Transaction } from "../../../stores/postgres/postgres.ts";
import { type HoldAnswer, holdQuota } from "../../quota/quota-holds.ts";
import { setJobDay } from "../jobs/job-sql.ts";

/** The units of a day's quota that a job needs. */
export interface JobReservation {
  jobId: string;
  teamId: string;
  /** The team's daily quota. */
  limit: number;
  units: number;
}

/** Thrown inside a transaction, so that nothing of it remains. */
class QuotaShort extends Error {
  readonly limit: number;
  readonly answer: HoldAnswer;
  constructor(limit: number, answer: HoldAnswer) {
    super("not enough quota is left");
    this.limit = limit;
    this.answer = answer;
  }
}

/** There are too few units. */
export interface QuotaShortage {
  /** A sentence for the team. */
  detail: string;
  /** Until the next day begins. */
  retryAfterS: number;
}

/**
 * Holds the units for a job of the transaction, and notes the day with it.
 * @throws what `reserveInTime` waits for
 */
export async function reserve(tx: Transaction, { jobId, ...hold }: JobReservation): Promise<void> {
  const answer = await holdQuota(tx, { jobId, ...hold });
  if (!answer.held) throw new QuotaShort(hold.limit, answer);
  if (answer.day !== null) await setJobDay(tx, jobId, answer.day);
}

/**
 * Runs a transaction that reserves units. If units are short, but idle in other processes, which give them back by
 * themselves, it is repeated for LIMITS.bulk.quotaWaitMs.
 * @param attempt a whole transaction with `reserve` in it
 * @param units number that it reserves
 * @returns null when it committed; the shortage when it was rolled back
 * @throws errors of `attempt` except the shortage; the reason of `cancelled`
 */
export async function reserveInTime(
  clock: Clock,
  units: number,
  attempt: () => Promise<void>,
  cancelled?: AbortSignal,
): Promise<QuotaShortage | null> {
  const untilMs = clock.monotonic() + LIMITS.bulk.quotaWaitMs;
  for (;;) {
    try {
      await attempt();
      return null;
    } catch (error) {
      if (!(error instanceof QuotaShort)) throw error;
      const { available, unspent, msToMidnight } = error.answer;
      if (available + unspent < units || clock.monotonic() >= untilMs)
        return {
          detail: `The job needs ${units} units; ${available} are left of the day's ${error.limit}.`,
          retryAfterS: Math.max(1, Math.ceil(msToMidnight / 1000)),
        };
    }
    await pause(clock, LIMITS.bulk.quotaRetryMs);
    cancelled?.throwIfAborted();
  }
}
