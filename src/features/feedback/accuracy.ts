import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";
import type { Verdict } from "../../verification/verdict/table.ts";
import type { Actor } from "../identity/actor.ts";
import type { MessageOutcome } from "./event.ts";
import { readGroups, readWrong } from "./feedback-sql.ts";

export interface OutcomeCounts {
  delivered: number;
  bounced: number;
  /** Bounced messages whose recipient cannot be reached at all. */
  hard_bounced: number;
  complained: number;
}

export interface AccuracyGroup extends OutcomeCounts {
  verdict: Verdict | null;
  reason: string | null;
  provider: string | null;
}

export interface WrongAnswers {
  verdict: Verdict;
  reason: string | null;
  provider: string | null;
  rule: string | null;
  outcome: MessageOutcome;
  bounce_reason: string | null;
  bounce_rule: string | null;
  events: number;
}

/** Outcomes of a team's messages, by rcpt's earlier answers. */
export interface Accuracy {
  days: number;
  groups: AccuracyGroup[];
  wrong: WrongAnswers[];
}

export interface AccuracyReader {
  /**
   * Up to LIMITS.feedback.accuracy.keptMs old. Empty for a test key: only reports of live ones are stored.
   * @param days UTC days back from the present one, it included
   * @throws AppError `rate_limited` while another number of days of the team is read, `overloaded`
   */
  read(actor: Actor, days: number): Promise<Accuracy>;
  /** Called when the team has reported: its next reading is new, in this process. */
  forget(teamId: string): void;
}

/** One statement after the other: a reading takes one connection. */
async function readAccuracy(sql: Queryable, teamId: string, days: number): Promise<Accuracy> {
  const groups = await readGroups(sql, teamId, days);
  const wrong = await readWrong(sql, teamId, days);
  return {
    days,
    groups: groups.map(({ hardBounced, ...group }) => ({ ...group, hard_bounced: hardBounced })),
    wrong: wrong.map(({ bounceReason, bounceRule, ...group }) => ({
      ...group,
      bounce_reason: bounceReason,
      bounce_rule: bounceRule,
    })),
  };
}

/**
 * Reads all of a team's rows of those days, up to 2.7 million: seconds of a connection. So a reading is answered again for
 * LIMITS.feedback.accuracy.keptMs, and few run at once, one of a team.
 */
export function createAccuracyReader(sql: Queryable, clock: Clock): AccuracyReader {
  const { kept, keptMs, readings, readingsPerTeam } = LIMITS.feedback.accuracy;
  const slots = createTeamSlots({ all: readings, ofTeam: readingsPerTeam }, (full) => {
    const code = full === "team" ? "rate_limited" : "overloaded";
    return new AppError(code, "The accuracy is being read. Retry after 1 s.", { retryAfterS: 1 });
  });
  /** By team and days, also those that are being read. */
  const known = new LRUCache<string, { readMs: number; accuracy: Promise<Accuracy> }>({ max: kept });

  async function readNow(teamId: string, days: number): Promise<Accuracy> {
    const release = slots.take(teamId);
    try {
      return await readAccuracy(sql, teamId, days);
    } finally {
      release();
    }
  }

  function read(teamId: string, days: number): Promise<Accuracy> {
    const key = `${teamId} ${days}`;
    const found = known.get(key);
    const nowMs = clock.monotonic();
    if (found !== undefined && nowMs - found.readMs < keptMs) return found.accuracy;
    const reading = { readMs: nowMs, accuracy: readNow(teamId, days) };
    known.set(key, reading);
    reading.accuracy.catch(() => {
      if (known.get(key) === reading) known.delete(key);
    });
    return reading.accuracy;
  }

  return {
    async read({ teamId, livemode }, asked) {
      const days = Math.min(asked, LIMITS.feedback.keptDays);
      return livemode ? read(teamId, days) : { days, groups: [], wrong: [] };
    },
    forget(teamId) {
      for (const key of [...known.keys()]) if (key.startsWith(`${teamId} `)) known.delete(key);
    },
  };
}
