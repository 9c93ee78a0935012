import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { createTeamGuard } from "../../platform/periodic/team-guard.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { limitsOf } from "../auth/lookup.ts";
import { recordEvent } from "../webhooks/outbox.ts";
import {
  type ChangeCursor,
  type ChangedDay,
  changedDays,
  noteThreshold,
  startThresholdScan,
} from "./threshold-sql.ts";

/** Shares of the daily quota, in percent, at which the team gets an event. */
const THRESHOLDS_PERCENT = [80, 100] as const;

export interface QuotaThresholds {
  /**
   * Records `quota.threshold_reached` for the teams whose settled use of the present UTC day has reached a threshold of the
   * limit in force. Once a day each, even if the limit changes afterwards or several processes look. Only days that changed
   * since the last look are read. A look that is stopped, or in which a team failed, is repeated from its beginning.
   */
  recordReached(isStopping: () => boolean): Promise<void>;
}

export function createQuotaThresholds({ sql, log }: { sql: Database; log: Logger }): QuotaThresholds {
  /** Start of the next look; null: the start of the day. */
  let since: string | null = null;

  async function tell(day: string, { teamId, used }: ChangedDay, limit: number, percent: number) {
    const resetsAt = new Date(Date.parse(day) + DAY_MS).toISOString();
    await sql.begin(async (tx) => {
      if (!(await noteThreshold(tx, { teamId, day, percent }))) return;
      await recordEvent(tx, {
        teamId,
        type: "quota.threshold_reached",
        livemode: true,
        data: { date: day, threshold_percent: percent, used, limit, resets_at: resetsAt },
      });
    });
  }

  async function consider(day: string, changed: ChangedDay): Promise<void> {
    const limit = limitsOf(changed).dailyQuota;
    // A team without any quota has not used it up.
    if (limit === 0) return;
    for (const percent of THRESHOLDS_PERCENT) {
      const isTold = changed.toldPercent !== null && percent <= changed.toldPercent;
      if (!isTold && changed.used * 100 >= limit * percent) await tell(day, changed, limit, percent);
    }
  }

  return {
    async recordReached(isStopping) {
      const look = await startThresholdScan(sql);
      const guard = createTeamGuard(log, "a team could not be told of its quota");
      let place: ChangeCursor | undefined = { changedAt: since ?? `${look.day}T00:00:00Z`, teamId: "" };
      while (place !== undefined) {
        const days: ChangedDay[] = await changedDays(sql, look, place);
        for (const changed of days) await guard.run(changed.teamId, () => consider(look.day, changed));
        if (isStopping()) return;
        place = days.length < LIMITS.usage.teamDaysPerLook ? undefined : days.at(-1);
      }
      if (guard.failures === 0) since = look.nextSince;
    },
  };
}
