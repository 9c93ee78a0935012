import { LIMITS } from "../../config/limits/limits.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
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

/** @param days UTC days back from the present one, it included */
export type ReadAccuracy = (actor: Actor, days: number) => Promise<Accuracy>;

export function createReadAccuracy(sql: Database): ReadAccuracy {
  return async ({ teamId }, asked) => {
    const days = Math.min(asked, LIMITS.feedback.keptDays);
    const [groups, wrong] = await Promise.all([readGroups(sql, teamId, days), readWrong(sql, teamId, days)]);
    return {
      days,
      groups: groups.map(({ hardBounced, ...group }) => ({ ...group, hard_bounced: hardBounced })),
      wrong: wrong.map(({ bounceReason, bounceRule, ...group }) => ({
        ...group,
        bounce_reason: bounceReason,
        bounce_rule: bounceRule,
      })),
    };
  };
}
