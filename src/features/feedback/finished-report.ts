import { LIMITS } from "../../config/limits/limits.ts";
import { hash128 } from "../../platform/ids.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import { readAddresses } from "../../verification/address/addresses-in.ts";
import { REASONS } from "../verify/answer/verification-result.ts";
import type { ReportedEvent } from "./event.ts";
import type { FeedbackRow } from "./feedback-sql.ts";

/** What a report's rows depend on besides its events. Plain data: it is sent to a thread. */
export interface ReportTerms {
  teamId: string;
  /** Epoch milliseconds. */
  nowMs: number;
  /** Names of providers as rcpt gives them. */
  providers: readonly string[];
  /** True when the team's hard bounces may end cached evidence. */
  mayWithdraw: boolean;
}

/** A hard bounce of what was answered `valid`. */
export interface Contradiction {
  /** Index of its row in the batch. */
  place: number;
  /** Of the address. */
  cacheKey: string;
  atMs: number;
}

/** Rows of one statement, as texts: these cross between threads in a tenth of the time that their objects take. */
export interface ReportBatch {
  /** JSON of `FeedbackRow`s, each with its `place`. */
  rows: string;
  /** JSON of `Contradiction`s; none when the team's bounces may not end evidence. */
  contradictions: string;
}

/** A report as it is stored: each day, outcome and address once. */
export interface FinishedReport {
  batches: ReportBatch[];
  /** Distinct events, in all batches. */
  events: number;
  duplicates: number;
  ignored: number;
}

interface KeptEvent {
  cacheKey: string;
  atMs: number;
  row: FeedbackRow;
}

const REASON_NAMES: ReadonlySet<string> = new Set(REASONS);
/** The form of the names of rules. They are not looked up: an answer may be of another version. */
const RULE = /^[a-z0-9_.-]{1,100}$/i;
const ruleOf = (text: string | null) => (text !== null && RULE.test(text) ? text : null);

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

type EventReader = (event: ReportedEvent) => KeptEvent | null;

/** Reads events; null: it names no address, or several, or is over the retention. */
function createEventReader({ teamId, nowMs, providers }: ReportTerms): EventReader {
  const providerNames = new Set(providers);
  const known = (names: ReadonlySet<string>, text: string | null) =>
    text !== null && names.has(text) ? text : null;
  return (event) => {
    const atMs = Math.min(event.atMs ?? nowMs, nowMs);
    if (!(atMs >= nowMs - LIMITS.feedback.keptDays * DAY_MS)) return null;
    // In UTF-16 units, as in JSON. A cell of a file may be longer, and reading it takes as long as it is.
    if (event.address.length > LIMITS.http.emailBytes) return null;
    const reading = readAddresses(event.address);
    if (reading.kind !== "one") return null;
    const { cacheKey } = reading.address;
    const { outcome, bounce, verdict, reason, provider, rule } = event;
    const row: FeedbackRow = {
      day: dayOf(atMs),
      outcome,
      // The hash is of the team too, so that equal addresses of two teams have different hashes.
      addressHash: hash128(`${teamId} ${cacheKey}`),
      verdict,
      reason: known(REASON_NAMES, reason),
      rule: ruleOf(rule),
      provider: known(providerNames, provider) ?? bounce?.provider ?? null,
      bounceReason: bounce?.reason ?? null,
      bounceRule: bounce?.rule ?? null,
      hard: bounce?.hard ?? false,
    };
    return { cacheKey, atMs, row };
  };
}

/** Two reports of one event, as `insertFeedback` joins them: the first, with an answer that it lacks, and hard if one is. */
function joined(first: KeptEvent, second: KeptEvent): KeptEvent {
  const [one, other] = [first.row, second.row];
  const { verdict, reason, rule, provider } = one.verdict === null && other.verdict !== null ? other : one;
  const { bounceReason, bounceRule, hard } = other.hard && !one.hard ? other : one;
  const row = { ...one, verdict, reason, rule, provider: provider ?? one.provider };
  return { ...first, row: { ...row, bounceReason, bounceRule, hard } };
}

function batchOf(events: readonly KeptEvent[], mayWithdraw: boolean): ReportBatch {
  const contradictions = events.flatMap(({ row, cacheKey, atMs }, place) =>
    mayWithdraw && row.verdict === "valid" && row.hard ? [{ place, cacheKey, atMs }] : [],
  );
  return {
    rows: JSON.stringify(events.map(({ row }, place) => ({ ...row, place }))),
    contradictions: JSON.stringify(contradictions satisfies Contradiction[]),
  };
}

/**
 * Reads the addresses of events and makes the rows to store. Pure: it runs in a thread for all but short reports, since an
 * address takes up to a quarter of a millisecond. An address of more UTF-16 units than LIMITS.http.emailBytes is ignored unread.
 */
export function finishReport(events: readonly ReportedEvent[], terms: ReportTerms): FinishedReport {
  const read = createEventReader(terms);
  const distinct = new Map<string, KeptEvent>();
  let ignored = 0;
  for (const event of events) {
    const kept = read(event);
    if (kept === null) {
      ignored += 1;
      continue;
    }
    const { day, outcome, addressHash } = kept.row;
    const key = `${day} ${outcome} ${addressHash}`;
    const known = distinct.get(key);
    distinct.set(key, known === undefined ? kept : joined(known, kept));
  }
  const { rowsPerStatement } = LIMITS.feedback;
  const all = [...distinct.values()];
  const batches: ReportBatch[] = [];
  for (let from = 0; from < all.length; from += rowsPerStatement)
    batches.push(batchOf(all.slice(from, from + rowsPerStatement), terms.mayWithdraw));
  return { batches, events: all.length, duplicates: events.length - ignored - all.length, ignored };
}
