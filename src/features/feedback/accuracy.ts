import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { createFairQueue } from "../../platform/fair-queue.ts";
import { createTeamSlots, tooMany } from "../../platform/team-slots.ts";
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
   * Up to LIMITS.feedback.accuracy.keptMs old. A new reading waits for its turn. Empty for a test key: only reports of live
   * ones are stored.
   * @param days UTC days back from the present one, it included
   * @throws AppError `rate_limited` while LIMITS.feedback.accuracy.waitingPerTeam other readings of the team wait or run;
   *   `overloaded`
   */
  read(actor: Actor, days: number): Promise<Accuracy>;
  /** Called when the team has reported new events: its next reading is new, in this process. */
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

/** A reading of a team, from when it is asked for. */
interface Reading {
  days: number;
  /** Monotonic; null: it waits for its turn. */
  begunMs: number | null;
  accuracy: Promise<Accuracy>;
}

/**
 * Reads all of a team's rows of those days, up to 2.7 million: seconds of a connection. So a team's last reading is answered
 * again for LIMITS.feedback.accuracy.keptMs, and one runs at a time: next that of the team served longest ago.
 */
export function createAccuracyReader(sql: Queryable, clock: Clock): AccuracyReader {
  const { waiting, waitingPerTeam, waitingKept, kept, keptMs } = LIMITS.feedback.accuracy;
  const slots = createTeamSlots(
    { all: waiting, perShare: waitingPerTeam, kept: waitingKept },
    tooMany("readings of the accuracy", waitingPerTeam),
  );
  const queue = createFairQueue();
  /** The last reading of each team. */
  const known = new LRUCache<string, Reading>({ max: kept });

  function begin(teamId: string, days: number): Reading {
    const release = slots.take(teamId);
    const readInTurn = () => {
      reading.begunMs = clock.monotonic();
      return readAccuracy(sql, teamId, days);
    };
    const accuracy = queue.run(teamId, readInTurn).finally(release);
    const reading: Reading = { days, begunMs: null, accuracy };
    return reading;
  }

  const isCurrent = ({ begunMs }: Reading) => begunMs === null || clock.monotonic() - begunMs < keptMs;

  function read(teamId: string, days: number): Promise<Accuracy> {
    const found = known.get(teamId);
    if (found?.days === days && isCurrent(found)) return found.accuracy;
    const reading = begin(teamId, days);
    known.set(teamId, reading);
    reading.accuracy.catch(() => {
      if (known.peek(teamId) === reading) known.delete(teamId);
    });
    return reading.accuracy;
  }

  return {
    async read({ teamId, livemode }, asked) {
      const days = Math.min(asked, LIMITS.feedback.keptDays);
      return livemode ? read(teamId, days) : { days, groups: [], wrong: [] };
    },
    forget(teamId) {
      known.delete(teamId);
    },
  };
}
