import { LIMITS } from "../../../config/limits/limits.ts";
import type { Deferral } from "../schedule/job-tasks.ts";
import type { RowWait, RowWithAnswer, VerifiedRow } from "./row-verifier.ts";

/**
 * Decides which rows of a task wait, until when, and which get their last answer.
 *
 * Rows at a *busy* site are due again at once: the retry window of the site paces them. Only if no row of a retry got a
 * connection, its rows wait first. Their time is counted from the first deferral.
 *
 * Rows that were *refused* temporarily are due at the server's time, else after a delay that doubles each time. Their time
 * is counted from the first refusal, so that waiting at a busy site before costs them none of it. The count restarts at
 * most once, so no row waits longer than both bounds together.
 *
 * Rows at a site that blocks us are *parked* until the breaker's next trial there, each time anew. Like rows at busy sites
 * they use up no attempts. When the site accepts us again they are released at once. That is why a retry has rows of one
 * site only.
 *
 * Rows that could not be probed because our own *network* is down are parked too. Each time they wait for as long as they
 * have waited already, between two bounds. So a short outage delays them little, and a long one causes few retries.
 */
export interface DeferralSettings {
  /** Delay after the first refusal, where the server names no time. */
  firstMs: number;
  /** Bound of the whole wait, from the first refusal on. */
  maxMs: number;
  /** The same for rows at busy sites and parked rows, from the first deferral on. */
  queueMaxMs: number;
}

/** The earlier waits of a task's rows. */
export interface WaitHistory {
  /** Since their first deferral, or refusal. */
  deferredMs: number;
  /** Number of temporary refusals so far. */
  attempts: number;
}

export interface DeferralContext extends WaitHistory, DeferralSettings {
  /** Rows of the chunk, which is the length of its sets of rows. */
  chunkRows: number;
  /** The egress that has to ask again. */
  egress: string;
  /** Milliseconds until the next trial of a site that blocks us; null: it does not any more. */
  parkedMs(site: string): number | null;
  /** 0 up to 1. */
  random(): number;
  /** Other rows of the task were answered already. */
  progressed?: boolean;
}

/** The rows of a task: those with their last answer, and those that wait. */
export interface SortedRows {
  answered: { offset: number; verified: VerifiedRow }[];
  deferrals: Deferral[];
  /** Sites that block us at which rows are parked. */
  parkedAt: string[];
}

interface WaitingRow extends WaitHistory {
  offset: number;
  reason: RowWait["reason"];
  site: string;
  parked: boolean;
  patienceMs: number | undefined;
  dueInMs: number;
}

/** Share of the delay that is random, so that the rows of a list are not all due at the same moment. */
const JITTER = 0.1;

function isBusy({ reason }: Pick<RowWait, "reason">): boolean {
  return reason === "busy";
}

/** Wait of a refused row in milliseconds; null: its time is over. The last attempt is at the end of its time. */
function refusedDelayMs(wait: RowWait, context: DeferralContext): number | null {
  const { attempts, firstMs } = context;
  const { retryAfterMs } = wait;
  const leftMs = timeLeftMs(wait, context);
  if (leftMs <= 0) return null;
  const grownMs = firstMs * 2 ** attempts;
  // A server that names a second each time is not asked every second for hours.
  const leastMs = attempts === 0 ? LIMITS.bulk.retryMs : grownMs / 2;
  return Math.min(retryAfterMs === null ? grownMs : Math.max(retryAfterMs, leastMs), leftMs);
}

/** Time that a row may still wait, unless its site is busy. A parked row's time runs from its first deferral. */
function timeLeftMs(
  { parked, patienceMs }: Pick<WaitingRow, "parked"> & { patienceMs?: number | undefined },
  { attempts, maxMs, queueMaxMs, deferredMs }: DeferralContext,
): number {
  const usualMs = parked ? queueMaxMs : maxMs;
  const boundMs = Math.min(usualMs, patienceMs ?? usualMs);
  return parked || attempts > 0 ? boundMs - deferredMs : boundMs;
}

/**
 * Wait of a parked row in milliseconds, at least LIMITS.bulk.retryMs, so that it does not become due continuously; null:
 * its time is over.
 */
function parkedDelayMs(wait: RowWait, context: DeferralContext): number | null {
  const leftMs = timeLeftMs(wait, context);
  if (leftMs <= 0) return null;
  const wantedMs =
    wait.reason === "our_network" ? networkDelayMs(context) : (context.parkedMs(wait.site) ?? 0);
  return Math.min(Math.max(wantedMs, LIMITS.bulk.retryMs), leftMs);
}

function networkDelayMs({ deferredMs, firstMs }: DeferralContext): number {
  const { networkRetryMs, networkRetryMaxMs } = LIMITS.bulk;
  return Math.min(networkRetryMaxMs, Math.max(deferredMs, Math.min(networkRetryMs, firstMs)));
}

/** The next wait of the row; null: its time is over. */
function nextWait(
  offset: number,
  wait: RowWait,
  progressed: boolean,
  context: DeferralContext,
): WaitingRow | null {
  const { reason, site, parked, patienceMs } = wait;
  const { deferredMs, attempts } = context;
  const waiting = { offset, reason, site, parked, patienceMs };
  if (isBusy(wait)) {
    if (deferredMs >= context.queueMaxMs) return null;
    // If no row got a connection, an immediate retry would spin. Rows of a chunk have not queued at the site yet: they
    // queue at once, so that the site is not idle while they wait.
    const dueInMs = progressed || deferredMs === 0 ? 0 : LIMITS.bulk.retryMaxMs;
    return { ...waiting, deferredMs, attempts, dueInMs };
  }
  const dueInMs = parked ? parkedDelayMs(wait, context) : refusedDelayMs(wait, context);
  if (dueInMs === null) return null;
  if (parked) return { ...waiting, deferredMs, attempts, dueInMs };
  return { ...waiting, deferredMs: attempts === 0 ? 0 : deferredMs, attempts: attempts + 1, dueInMs };
}

/** Times within a fifth of each other are one, so that servers that count down make no task a row. */
function delayBucketOf(dueInMs: number): number {
  return dueInMs === 0 ? 0 : Math.ceil(4 * Math.log2(dueInMs));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

function deferralOf(rows: readonly WaitingRow[], site: string, context: DeferralContext): Deferral {
  const { chunkRows, egress } = context;
  const [first] = rows as [WaitingRow];
  const rowSet = Buffer.alloc(Math.ceil(chunkRows / 8));
  for (const { offset } of rows) rowSet[offset >> 3] = (rowSet[offset >> 3] ?? 0) | (1 << (offset & 7));
  const longestMs = Math.max(...rows.map((row) => row.dueInMs));
  const spreadMs = longestMs * (1 + JITTER * context.random());
  const leftMs = Math.min(...rows.map((row) => timeLeftMs(row, context)));
  const dueInMs = isBusy(first) ? longestMs : Math.min(spreadMs, leftMs);
  const { reason, deferredMs, attempts } = first;
  return { rowSet, rowCount: rows.length, site, egress, reason, dueInMs, deferredMs, attempts };
}

/**
 * Rows of a site that has many of them are a retry of their own. So are those of the first few sites that block us, however
 * few: a site's rows can be released only if their retry is for that site alone. The others are one retry together, which
 * has a site if theirs is the same.
 */
function groupRows(rows: readonly WaitingRow[], context: DeferralContext): Deferral[] {
  const blocking = rows.filter(({ reason, site }) => reason === "sender_blocked" && site !== "");
  const releasable = new Set(
    [...new Set(blocking.map(({ site }) => site))].slice(0, LIMITS.breaker.parkedSites),
  );
  const waitKeyOf = ({ reason, parked, dueInMs }: WaitingRow) =>
    `${reason} ${parked} ${delayBucketOf(dueInMs)}`;
  return groupBy(rows, waitKeyOf).flatMap((sameWait) => {
    const sites = groupBy(sameWait, ({ site }) => site);
    const isLarge = ([first, ...others]: readonly WaitingRow[]) => {
      if (first === undefined || first.site === "") return false;
      if (first.reason === "sender_blocked" && releasable.has(first.site)) return true;
      return 1 + others.length >= LIMITS.bulk.retryRowsPerSite;
    };
    const large = sites.filter(isLarge).map((group) => deferralOf(group, group[0]?.site ?? "", context));
    const small = sites.filter((group) => !isLarge(group));
    const [first] = small;
    if (first === undefined) return large;
    const site = small.length === 1 ? (first[0]?.site ?? "") : "";
    return [...large, deferralOf(small.flat(), site, context)];
  });
}

/** A site may have many breakers, and a task many rows of it. */
function memoizePerSite(parkedMs: DeferralContext["parkedMs"]): DeferralContext["parkedMs"] {
  const known = new Map<string, number | null>();
  return (site) => {
    const before = known.get(site);
    if (before !== undefined) return before;
    const waitMs = parkedMs(site);
    known.set(site, waitMs);
    return waitMs;
  };
}

/** Splits rows into answered and waiting ones. Each row is in one of the two. */
export function sortRows(rows: readonly RowWithAnswer[], given: DeferralContext): SortedRows {
  const context = { ...given, parkedMs: memoizePerSite(given.parkedMs) };
  const answered: SortedRows["answered"] = [];
  const waiting: WaitingRow[] = [];
  const progressed =
    given.progressed === true || rows.some(({ answer }) => answer.wait === undefined || !isBusy(answer.wait));
  for (const { offset, answer } of rows) {
    if (answer.wait === undefined) {
      answered.push({ offset, verified: answer.verified });
      continue;
    }
    const row = nextWait(offset, answer.wait, progressed, context);
    if (row === null) answered.push({ offset, verified: answer.wait.last() });
    else waiting.push(row);
  }
  const blocked = waiting.filter(({ parked, reason }) => parked && reason === "sender_blocked");
  const parkedAt = new Set(blocked.map(({ site }) => site));
  return { answered, deferrals: groupRows(waiting, context), parkedAt: [...parkedAt] };
}

/** The rows of a set, counted from 0. */
export function offsetsOfRowSet(rowSet: Uint8Array): number[] {
  const offsets: number[] = [];
  for (let at = 0; at < rowSet.length; at++)
    for (let bit = 0; bit < 8; bit++) if (((rowSet[at] ?? 0) >> bit) & 1) offsets.push(at * 8 + bit);
  return offsets;
}
