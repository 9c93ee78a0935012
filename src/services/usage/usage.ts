import { type Clock, DAY_MS } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { afterTurns } from "../../core/stalls.ts";
import type { Tier } from "../../core/tiers.ts";
import type { UsageCounts, UsageStore } from "../../store/usage.ts";
import type { Actor } from "../actor.ts";
import type { Quota } from "../quota/quota.ts";
import type { UsageCounter } from "./counts.ts";

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
  /** How many there are: what was asked for, or what the tier has. */
  days: number;
  /** A history has one page. */
  next_cursor: null;
}

/**
 * What a team has used. `used` is the quota ledger's: exact for what this process has charged, and at most
 * LIMITS.quota.flushEveryMs late for what others did. The rest are counters: exact for this process when it can write
 * them within LIMITS.usage.flushWaitMs, at most LIMITS.usage.flushEveryMs late for others, and short of that much when one
 * was killed.
 * @throws AppError `unavailable` without Postgres: never a figure that may be wrong
 */
export interface Usage {
  today(actor: Actor): Promise<Today>;
  /** The last `days` days, the present one first, days without use included; no more than the tier has. */
  history(actor: Actor, days: number): Promise<History>;
}

export interface UsageDeps {
  store: Pick<UsageStore, "ofDay" | "history">;
  quota: Pick<Quota, "view">;
  counter: Pick<UsageCounter, "flush">;
  clock: Clock;
}

export function createUsage({ store, quota, counter, clock }: UsageDeps): Usage {
  /** `work`, or 503 when it fails or takes too long. */
  function read<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) =>
        reject(new AppError("unavailable", "Usage cannot be read now.", { retryAfterS: 1, cause }));
      const expiry = afterTurns(clock, LIMITS.usage.readTimeoutMs, () =>
        fail(new Error("reading usage timed out")),
      );
      work.then(resolve, fail).finally(() => expiry.cancel());
    });
  }

  /** Resolves when the counts are written, and without them when that fails or takes long: figures a little late beat none. */
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
