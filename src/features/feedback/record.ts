import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import type { Verdict } from "../../verification/verdict/table.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { Actor } from "../identity/actor.ts";
import type { CacheEntry } from "../verify/cache/cache-entry.ts";
import type { WithdrawEvidence } from "../verify/cache/withdraw-evidence.ts";
import type { MessageOutcome } from "./event.ts";
import { type AddedEvents, countNew, countReports, eventsToday, insertFeedback } from "./feedback-sql.ts";
import type { Contradiction, FinishedReport } from "./finished-report.ts";

/** The result of a report. */
export interface Recorded {
  /** Events that are new. */
  accepted: number;
  /** Those that were reported before, or twice in the request: the same address, outcome and UTC day. */
  duplicates: number;
  /** Those that are over the retention, or name no address; of a file also its rows and messages without an event. */
  ignored: number;
}

export interface RecordFeedback {
  /**
   * Looks before a long report is read whether the team may report any more today: what it would repeat is not known then. Test
   * keys always may.
   * @throws AppError `limit_reached`
   */
  requireRoom(actor: Actor): Promise<void>;
  /**
   * Stores a report of the caller's team, all or nothing. A test key's events are not stored; the answer is as if there
   * were no other events.
   * @throws AppError `limit_reached` over LIMITS.feedback.eventsPerTeamDay; errors of `lockActingMember`
   */
  record(actor: Actor, report: FinishedReport): Promise<Recorded>;
}

export interface RecordFeedbackDeps {
  sql: Database;
  clock: Clock;
  log: Logger;
  withdraw: WithdrawEvidence;
  /** Called with the number of new events of a kind. */
  onRecorded(verdict: Verdict | null, outcome: MessageOutcome | "bounced_hard", events: number): void;
}

/**
 * True when a bounce ends cached evidence: the evidence accepted the address, before the bounce, and some time ago. So an
 * address costs its server at most one more probe in that time, however often teams report it.
 */
const isOver =
  (bouncedMs: number, nowMs: number) =>
  ({ evidence, storedAt }: CacheEntry) =>
    evidence.smtp?.class === "accepted" &&
    storedAt < bouncedMs &&
    storedAt <= nowMs - LIMITS.feedback.withdrawnAfterMs;

const { eventsPerTeamDay, withdrawalsPerTeamDay } = LIMITS.feedback;

const dayIsFull = () =>
  new AppError(
    "limit_reached",
    `A team may report ${eventsPerTeamDay} events a UTC day. Report the rest tomorrow, or a sample of the deliveries.`,
  );

/**
 * Nothing is written before this: rows that are rolled back cost as much as kept ones. Known events count for nothing, so the
 * report that used up the day may be repeated. The caller holds the team's lock.
 * @throws AppError `limit_reached` when the new events of the report are over today's limit
 */
async function requireRoomFor(tx: Transaction, teamId: string, report: FinishedReport): Promise<void> {
  const left = eventsPerTeamDay - (await eventsToday(tx, teamId));
  if (report.events <= left) return;
  let added = 0;
  for (const { rows } of report.batches) {
    added += await countNew(tx, teamId, rows);
    if (added > left) throw dayIsFull();
  }
}

interface KeptReport {
  added: AddedEvents[];
  /** The new contradictions. */
  contradictions: Contradiction[];
}

async function insertAll(tx: Transaction, teamId: string, report: FinishedReport): Promise<KeptReport> {
  const kept: KeptReport = { added: [], contradictions: [] };
  for (const { rows, contradictions } of report.batches) {
    const added = await insertFeedback(tx, teamId, rows);
    kept.added.push(...added);
    const places = new Set(added.flatMap((group) => group.contradicting));
    if (places.size === 0) continue;
    const all = JSON.parse(contradictions) as Contradiction[];
    kept.contradictions.push(...all.filter(({ place }) => places.has(place)));
  }
  return kept;
}

const eventsIn = (groups: readonly AddedEvents[]) => groups.reduce((sum, { events }) => sum + events, 0);

/**
 * Records the outcomes of a team's messages. A team's reports change no other team's answers: they are counted for the team
 * alone.
 *
 * A hard bounce of an address that was answered `valid` withdraws the cached evidence, so that the next request probes
 * again. That is the effect of `refresh=true` too. So it is limited to tiers that have `refresh` and probe, and to
 * LIMITS.feedback.withdrawalsPerTeamDay bounces a day.
 */
export function createRecordFeedback(deps: RecordFeedbackDeps): RecordFeedback {
  const { sql, clock, log, withdraw, onRecorded } = deps;

  /** @returns the new events, and those of the contradictions that may end cached evidence */
  async function keep(actor: Actor, report: FinishedReport): Promise<KeptReport> {
    const { teamId } = actor;
    return sql.begin(async (tx) => {
      await lockActingMember(tx, actor, "member");
      await requireRoomFor(tx, teamId, report);
      const { added, contradictions } = await insertAll(tx, teamId, report);
      const withdrawals = contradictions.length;
      const counts = await countReports(tx, teamId, { events: eventsIn(added), withdrawals });
      const left = Math.max(0, withdrawalsPerTeamDay - (counts.withdrawals - withdrawals));
      return { added, contradictions: contradictions.slice(0, left) };
    }, teamId);
  }

  async function withdrawAll(contradictions: readonly Contradiction[]): Promise<void> {
    for (const { cacheKey, atMs } of contradictions) await withdraw(cacheKey, isOver(atMs, clock.now()));
  }

  return {
    async requireRoom({ teamId, livemode }) {
      if (livemode && (await eventsToday(sql, teamId)) >= eventsPerTeamDay) throw dayIsFull();
    },

    async record(actor, report) {
      const { events, duplicates, ignored } = report;
      if (events === 0 || !actor.livemode) return { accepted: events, duplicates, ignored };
      const { added, contradictions } = await keep(actor, report);
      for (const { verdict, outcome, hard, events: count } of added)
        onRecorded(verdict, hard ? "bounced_hard" : outcome, count);
      // The reports are kept whether or not Redis answers; the answer does not reveal which address was cached.
      await withdrawAll(contradictions).catch((error: unknown) =>
        log.warn({ err: error }, "cached evidence of bounced addresses could not be withdrawn"),
      );
      const accepted = eventsIn(added);
      return { accepted, duplicates: duplicates + events - accepted, ignored };
    },
  };
}
