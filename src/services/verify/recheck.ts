import type { Evidence, SmtpClass } from "../../check/evidence.ts";
import type { CheckPool, PendingCheck } from "../../check/pool.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { EvidenceCache } from "../../store/evidence-cache.ts";
import { DueTimes } from "./due-times.ts";
import type { FlightQuestion, FlightsDeps } from "./flights.ts";
import { RecheckTurns } from "./recheck-turns.ts";
import { retryAfter } from "./retry-after.ts";

/** How a recheck ended: `turned_away` never began, for want of room. */
export const RECHECK_RESULTS = [
  "settled",
  "put_off",
  "given_up",
  "superseded",
  "failed",
  "turned_away",
] as const;
export type RecheckResult = (typeof RECHECK_RESULTS)[number];

/**
 * Asks again, in the background, about addresses whose servers put us off: greylisting lets in who comes back. The same
 * process asks, hence with the same sender by the same way, and what it learns replaces the cache's entry, for all
 * processes. Nobody waits for it and nobody pays for it; it goes behind requests, and ends with the process: whoever asks
 * then is a stranger to the server once more, no worse.
 */
export interface Rechecks {
  /** A check of now has ended so. Put off: it is asked again in time. Else nothing is left to ask. */
  landed(question: Landed, entry: CacheEntry): void;
  /** Forgets all that waits, and cancels what is under way. */
  stop(): void;
  readonly pending: number;
}

type Landed = Pick<FlightQuestion, "teamId" | "address" | "scope">;

export interface RechecksDeps {
  clock: Clock;
  log: Logger;
  pool: Pick<CheckPool, "check" | "inFlight">;
  cache: Pick<EvidenceCache, "fetch" | "store">;
  keep: FlightsDeps["keep"];
  /** Where it would be asked. */
  siteOf(evidence: Evidence, domain: string): string;
  onEnd(result: RecheckResult): void;
}

const ANSWERS: ReadonlySet<SmtpClass> = new Set([
  "accepted",
  "mailbox_full",
  "mailbox_not_found",
  "mailbox_disabled",
  "refused_by_policy",
  "provider_unverifiable",
]);

interface Waiting {
  key: string;
  teamId: string;
  site: string;
  question: Pick<FlightQuestion, "address" | "scope">;
  attempts: number;
  /** Epoch milliseconds of the evidence it rests on. */
  storedAt: number;
  dueMs: number;
}

/** Something about the mailbox or the domain was said, which a look that fails must not take away. */
function isAnswer({ smtp }: Evidence): boolean {
  return smtp === null || ANSWERS.has(smtp.class);
}

export function createRechecks(deps: RechecksDeps): Rechecks {
  const { clock, pool, cache } = deps;
  const {
    attempts: attemptsMax,
    pending: pendingMax,
    teamShare,
    atOnce,
    perSite,
    loadShare,
    busyMs,
  } = LIMITS.rechecks;
  const waiting = new Map<string, Waiting>();
  const due = new DueTimes<Waiting>();
  /** Those that are due and wait for room. */
  const turns = new RecheckTurns<Waiting>();
  const running = new Map<Waiting, PendingCheck | null>();
  const runningAt = new Map<string, number>();
  const byTeam = new Map<string, number>();
  let timer: Timer | null = null;
  let timerMs = Number.POSITIVE_INFINITY;
  /** When those that are due look for room again. */
  let lookMs = 0;
  let stopped = false;

  /** One timer, for the next that is due, and for those that found no room. */
  function arm(): void {
    const nextMs = stopped ? null : turns.size > 0 ? Math.min(lookMs, due.nextMs ?? lookMs) : due.nextMs;
    if (nextMs === timerMs) return;
    timer?.cancel();
    timer = null;
    timerMs = Number.POSITIVE_INFINITY;
    if (nextMs === null) return;
    timerMs = nextMs;
    timer = clock.after(Math.max(0, nextMs - clock.monotonic()), () => {
      timer = null;
      timerMs = Number.POSITIVE_INFINITY;
      begin();
    });
  }

  function schedule(one: Waiting, dueMs: number): void {
    one.dueMs = dueMs;
    due.add(one, dueMs);
    arm();
  }

  function forget(one: Waiting, result: RecheckResult): void {
    const { teamId } = one;
    waiting.delete(one.key);
    due.remove(one);
    turns.remove(one);
    const left = (byTeam.get(teamId) ?? 1) - 1;
    if (left > 0) byTeam.set(teamId, left);
    else byTeam.delete(teamId);
    deps.onEnd(result);
    arm();
  }

  function isBusy(): boolean {
    return running.size >= atOnce || pool.inFlight >= LIMITS.check.tasksInFlight / loadShare;
  }

  function begin(): void {
    const nowMs = clock.monotonic();
    for (let one = due.take(nowMs); one !== null; one = due.take(nowMs)) turns.add(one);
    while (!isBusy()) {
      const one = turns.take((site) => (runningAt.get(site) ?? 0) < perSite);
      if (one === null) break;
      run(one);
    }
    // Requests go first: those that are due look again.
    lookMs = nowMs + busyMs;
    arm();
  }

  function run(one: Waiting): void {
    const { site } = one;
    running.set(one, null);
    runningAt.set(site, (runningAt.get(site) ?? 0) + 1);
    void recheck(one).finally(() => {
      running.delete(one);
      const left = (runningAt.get(site) ?? 1) - 1;
      if (left > 0) runningAt.set(site, left);
      else runningAt.delete(site);
      if (!stopped) begin();
    });
  }

  async function recheck(one: Waiting): Promise<void> {
    const { address, scope } = one.question;
    try {
      const known = await cache.fetch(scope, address.cacheKey);
      if (stopped || waiting.get(one.key) !== one) return;
      if (known !== undefined && known.storedAt > one.storedAt) return conclude(one, known, "superseded");
      const check = pool.check(address.normalised, scope);
      running.set(one, check);
      const evidence = await check.evidence;
      if (stopped) return;
      if (evidence === null) return again(one, null, "failed");
      const fresher = await cache.fetch(scope, address.cacheKey);
      if (stopped || waiting.get(one.key) !== one) return;
      if (fresher !== undefined && fresher.storedAt > one.storedAt)
        return conclude(one, fresher, "superseded");
      if (fresher !== undefined && isAnswer(fresher.evidence) && !isAnswer(evidence))
        return again(one, retryAfter(evidence.smtp)?.seconds ?? null, "failed");
      const entry = stored(one, evidence);
      conclude(one, entry, "settled");
    } catch (error) {
      deps.log.debug({ err: error }, "an address could not be asked about again");
      if (!stopped) again(one, null, "failed");
    }
  }

  function stored({ question: { scope, address } }: Waiting, evidence: Evidence): CacheEntry {
    const { ttlS, shared } = deps.keep(scope, address, evidence);
    const entry = { evidence, storedAt: clock.now(), ttlS };
    cache.store(scope, address.cacheKey, entry, shared);
    return entry;
  }

  function conclude(one: Waiting, entry: CacheEntry, result: "settled" | "superseded"): void {
    if (waiting.get(one.key) !== one) return;
    const retry = retryAfter(entry.evidence.smtp);
    one.storedAt = entry.storedAt;
    if (retry?.rechecked) again(one, retry.seconds, "put_off");
    else forget(one, result);
  }

  /** Later each time, and not for ever. */
  function again(one: Waiting, seconds: number | null, result: "put_off" | "failed"): void {
    if (waiting.get(one.key) !== one) return;
    one.attempts += 1;
    if (one.attempts >= attemptsMax) {
      forget(one, "given_up");
      return;
    }
    deps.onEnd(result);
    const { usualS, maxS } = LIMITS.rechecks;
    const waitS = Math.min(maxS, (seconds ?? usualS) * 2 ** one.attempts);
    schedule(one, clock.monotonic() + waitS * 1_000);
  }

  function note(question: Landed, entry: CacheEntry, key: string, seconds: number): void {
    const dueMs = clock.monotonic() + seconds * 1_000;
    const known = waiting.get(key);
    if (known !== undefined) {
      // Asked meanwhile, and put off again: no later than was planned.
      known.storedAt = entry.storedAt;
      if (running.has(known) || known.dueMs <= dueMs) return;
      due.remove(known);
      schedule(known, dueMs);
      return;
    }
    const mine = byTeam.get(question.teamId) ?? 0;
    if (waiting.size >= pendingMax || mine >= pendingMax / teamShare) {
      deps.onEnd("turned_away");
      return;
    }
    byTeam.set(question.teamId, mine + 1);
    const { teamId, address, scope } = question;
    const one: Waiting = {
      key,
      teamId,
      site: deps.siteOf(entry.evidence, address.domain),
      question: { address, scope },
      attempts: 0,
      storedAt: entry.storedAt,
      dueMs,
    };
    waiting.set(key, one);
    schedule(one, dueMs);
  }

  return {
    landed(question, entry) {
      if (stopped) return;
      const retry = retryAfter(entry.evidence.smtp);
      if (waiting.size === 0 && retry?.rechecked !== true) return;
      const key = `${question.scope} ${question.address.cacheKey}`;
      if (retry?.rechecked) return note(question, entry, key, retry.seconds);
      const known = waiting.get(key);
      if (known !== undefined) forget(known, "superseded");
    },
    stop() {
      stopped = true;
      for (const check of running.values()) check?.cancel();
      due.clear();
      turns.clear();
      waiting.clear();
      byTeam.clear();
      arm();
    },
    get pending() {
      return waiting.size;
    },
  };
}
