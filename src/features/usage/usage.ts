import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { AppError } from "../../platform/errors.ts";
import { type Clock, DAY_MS } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import type { Actor } from "../identity/actor.ts";
import type { Quota } from "../quota/quota.ts";
import type { UsageCounter } from "./counts.ts";
import type { UsageCounts, UsageStore } from "./usage-sql.ts";

export interface Verdicts {
  valid: number;
  invalid: number;
  risky: number;
  unknown: number;
}

/** Use of one UTC day. */
export interface DayUsage {
  /** `YYYY-MM-DD`. */
  date: string;
  used: number;
  single: number;
  bulk: number;
  cached: number;
  verdicts: Verdicts;
}

export interface Today extends DayUsage {
  tier: Tier;
  limit: number;
  remaining: number;
  resets_at: string;
}

export interface History {
  data: DayUsage[];
  /** Number of days: as requested, or as the tier allows. */
  days: number;
  /** A history has one page. */
  next_cursor: null;
}

/**
 * A team's usage. `used` is the quota ledger's: exact for charges of this process, and at most LIMITS.quota.flushEveryMs
 * late for others. The rest are counters: exact for this process when it can write them within LIMITS.usage.flushWaitMs, at
 * most LIMITS.usage.flushEveryMs late for others, and short by that much after a process was killed.
 * @throws AppError `unavailable` without Postgres: never a figure that may be wrong
 */
export interface Usage {
  today(actor: Actor): Promise<Today>;
  /** The last `days` days, the current one first, unused days included; no more than the tier allows. */
  history(actor: Actor, days: number): Promise<History>;
}

export interface UsageDeps {
  store: Pick<UsageStore, "ofDay" | "history">;
  quota: Pick<Quota, "view">;
  counter: Pick<UsageCounter, "flush">;
  clock: Clock;
}

export function createUsage({ store, quota, counter, clock }: UsageDeps): Usage {
  /** The result of `work`, or 503 when it fails or takes too long. */
  function read<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) =>
        reject(new AppError("unavailable", "Usage cannot be read now.", { retryAfterS: 1, cause }));
      const expiry = startStallTolerantTimer(clock, LIMITS.usage.readTimeoutMs, () =>
        fail(new Error("reading usage timed out")),
      );
      work.then(resolve, fail).finally(() => expiry.cancel());
    });
  }

  /** Resolves when the counts are written, or when that fails or takes long: slightly old figures are better than none. */
  function flushed(): Promise<void> {
    return new Promise((resolve) => {
      const patience = clock.after(LIMITS.usage.flushWaitMs, resolve);
      const done = () => {
        patience.cancel();
        resolve();
      };
      counter.flush().then(done, done);
    });
  }

  async function readToday(actor: Actor): Promise<Today> {
    await flushed();
    const { day, used, held } = await quota.view(actor.teamId);
    const limit = actor.limits.dailyQuota;
    return {
      date: day,
      tier: actor.tier,
      limit,
      used,
      // Below 0 where the limit was lowered during the day.
      remaining: Math.max(0, limit - used - held),
      resets_at: new Date(Date.parse(day) + DAY_MS).toISOString(),
      ...countsOf(await store.ofDay(actor.teamId, day)),
    };
  }

  async function readHistory(actor: Actor, days: number): Promise<History> {
    await flushed();
    const { day: today, used } = await quota.view(actor.teamId);
    const rows = await store.history(actor.teamId, days);
    const data = rows.map(({ day, settled, ...counts }) => ({
      date: day,
      used: day === today ? used : settled,
      ...countsOf(counts),
    }));
    return { data, days: data.length, next_cursor: null };
  }

  return {
    today: (actor) => read(readToday(actor)),
    history: (actor, days) => read(readHistory(actor, Math.min(days, actor.limits.historyDays))),
  };
}

function countsOf(counts: UsageCounts): Omit<DayUsage, "date" | "used"> {
  const { single, bulk, cached, valid, invalid, risky, unknown } = counts;
  return { single, bulk, cached, verdicts: { valid, invalid, risky, unknown } };
}
