import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { hash128 } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, DAY_MS } from "../../platform/time/clock.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import type { ParsedAddress } from "../../verification/address/address.ts";
import { readAddresses } from "../../verification/address/addresses-in.ts";
import type { Verdict } from "../../verification/verdict/table.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { Actor } from "../identity/actor.ts";
import type { CacheEntry } from "../verify/cache/cache-entry.ts";
import type { WithdrawEvidence } from "../verify/cache/withdraw-evidence.ts";
import type { MessageOutcome, ReportedEvent } from "./event.ts";
import { countReports, type FeedbackRow, insertFeedback } from "./feedback-sql.ts";

/** The result of a report. */
export interface Recorded {
  /** Events that are new. */
  accepted: number;
  /** Those that were reported before, or twice in the request: the same address, outcome and UTC day. */
  duplicates: number;
  /** Those that are over the retention, or name no address; of a file also its rows and messages without an event. */
  ignored: number;
}

/**
 * Stores events of the caller's team, all or none. A test key's events are not stored; the answer is as if there were no
 * other events.
 * @throws AppError `limit_reached` over LIMITS.feedback.eventsPerTeamDay; errors of `lockActingMember`
 */
export type RecordFeedback = (actor: Actor, events: readonly ReportedEvent[]) => Promise<Recorded>;

export interface RecordFeedbackDeps {
  sql: Database;
  clock: Clock;
  log: Logger;
  withdraw: WithdrawEvidence;
  /** Called with each event that is new. */
  onRecorded(verdict: Verdict | null, outcome: MessageOutcome | "bounced_hard"): void;
}

/** An event that is kept, once each. */
interface KeptEvent {
  address: ParsedAddress;
  atMs: number;
  row: FeedbackRow;
}

/** A name as rcpt gives them to reasons, providers and rules; another is not kept. */
const NAME = /^[a-z0-9_.-]{1,100}$/i;
const nameOf = (text: string | null) => (text !== null && NAME.test(text) ? text : null);

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** null: it names no address, or several, or is over the retention. */
function keptEvent(teamId: string, event: ReportedEvent, nowMs: number): KeptEvent | null {
  const reading = readAddresses(event.address);
  const atMs = Math.min(event.atMs ?? nowMs, nowMs);
  if (reading.kind !== "one" || !(atMs >= nowMs - LIMITS.feedback.keptDays * DAY_MS)) return null;
  const { address } = reading;
  const { outcome, bounce, verdict, reason, provider, rule } = event;
  const row: FeedbackRow = {
    day: dayOf(atMs),
    outcome,
    // The hash is of the team too, so that equal addresses of two teams have different hashes.
    addressHash: hash128(`${teamId} ${address.cacheKey}`),
    verdict,
    reason: nameOf(reason),
    rule: nameOf(rule),
    provider: nameOf(provider) ?? bounce?.provider ?? null,
    bounceReason: bounce?.reason ?? null,
    bounceRule: bounce?.rule ?? null,
    hard: bounce?.hard ?? false,
  };
  return { address, atMs, row };
}

/** Two reports of one event, as `insertFeedback` joins them: the first, with an answer that it lacks, and hard if one is. */
function joined(first: KeptEvent, second: KeptEvent): KeptEvent {
  const [one, other] = [first.row, second.row];
  const { verdict, reason, rule, provider } = one.verdict === null && other.verdict !== null ? other : one;
  const { bounceReason, bounceRule, hard } = other.hard && !one.hard ? other : one;
  const row = { ...one, verdict, reason, rule, provider: provider ?? one.provider };
  return { ...first, row: { ...row, bounceReason, bounceRule, hard } };
}

/** Each day, outcome and address once. */
function distinctEvents(teamId: string, events: readonly ReportedEvent[], nowMs: number) {
  const distinct = new Map<string, KeptEvent>();
  let ignored = 0;
  for (const event of events) {
    const kept = keptEvent(teamId, event, nowMs);
    if (kept === null) {
      ignored += 1;
      continue;
    }
    const { day, outcome, addressHash } = kept.row;
    const key = `${day} ${outcome} ${addressHash}`;
    const known = distinct.get(key);
    distinct.set(key, known === undefined ? kept : joined(known, kept));
  }
  return { distinct: [...distinct.values()], ignored };
}

async function insertAll(
  tx: Transaction,
  teamId: string,
  events: readonly KeptEvent[],
): Promise<KeptEvent[]> {
  const { rowsPerStatement } = LIMITS.feedback;
  const added: KeptEvent[] = [];
  for (let from = 0; from < events.length; from += rowsPerStatement) {
    const some = events.slice(from, from + rowsPerStatement);
    const places = await insertFeedback(
      tx,
      teamId,
      some.map(({ row }) => row),
    );
    added.push(...places.flatMap((place) => some[place] ?? []));
  }
  return added;
}

/** True for a bounce that contradicts the cache: the team was answered `valid`, and the mailbox does not exist. */
const contradicts = ({ row }: KeptEvent) => row.verdict === "valid" && row.hard;

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
  const { eventsPerTeamDay, withdrawalsPerTeamDay } = LIMITS.feedback;

  /** @returns the new events, and those of them that may end cached evidence */
  async function keep(actor: Actor, events: readonly KeptEvent[]) {
    const { teamId, limits } = actor;
    return sql.begin(async (tx) => {
      await lockActingMember(tx, actor, "member");
      const added = await insertAll(tx, teamId, events);
      const wanted = limits.refresh && limits.probing ? added.filter(contradicts) : [];
      const counts = await countReports(tx, teamId, { events: added.length, withdrawals: wanted.length });
      if (counts.events > eventsPerTeamDay)
        throw new AppError(
          "limit_reached",
          `A team may report ${eventsPerTeamDay} events a UTC day. Report the rest tomorrow, or a sample of the deliveries.`,
        );
      const left = Math.max(0, withdrawalsPerTeamDay - (counts.withdrawals - wanted.length));
      return { added, withdrawn: wanted.slice(0, left) };
    }, teamId);
  }

  async function withdrawAll(events: readonly KeptEvent[]): Promise<void> {
    for (const { address, atMs } of events) await withdraw(address.cacheKey, isOver(atMs, clock.now()));
  }

  return async (actor, events) => {
    const { distinct, ignored } = distinctEvents(actor.teamId, events, clock.now());
    const distinctOnly = {
      accepted: distinct.length,
      duplicates: events.length - ignored - distinct.length,
      ignored,
    };
    if (distinct.length === 0 || !actor.livemode) return distinctOnly;
    const { added, withdrawn } = await keep(actor, distinct);
    for (const { row } of added) onRecorded(row.verdict, row.hard ? "bounced_hard" : row.outcome);
    // The reports are kept whether or not Redis answers; the answer does not reveal which address was cached.
    await withdrawAll(withdrawn).catch((error: unknown) =>
      log.warn({ err: error }, "cached evidence of bounced addresses could not be withdrawn"),
    );
    return { accepted: added.length, duplicates: events.length - ignored - added.length, ignored };
  };
}
