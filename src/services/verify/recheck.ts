import type { Evidence } from "../../check/evidence.ts";
import type { CheckPool, PendingCheck } from "../../check/pool.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { CacheEntry, EvidenceCache } from "../../store/evidence-cache.ts";
import { DueTimes } from "./due-times.ts";
import type { FlightQuestion, FlightsDeps } from "./flights.ts";
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
  landed(question: Pick<FlightQuestion, "teamId" | "address" | "scope">, entry: CacheEntry): void;
  /** Forgets all that waits, and cancels what is under way. */
  stop(): void;
  readonly pending: number;
}

export interface RechecksDeps {
  clock: Clock;
  log: Logger;
  pool: Pick<CheckPool, "check" | "inFlight">;
  cache: Pick<EvidenceCache, "fetch" | "store">;
  keep: FlightsDeps["keep"];
  onEnd(result: RecheckResult): void;
}

interface Waiting {
  key: string;
  question: Pick<FlightQuestion, "teamId" | "address" | "scope">;
  attempts: number;
  /** Epoch milliseconds of the evidence it rests on. */
  storedAt: number;
  dueMs: number;
}

export function createRechecks(deps: RechecksDeps): Rechecks {
  const { clock, pool, cache } = deps;
  const {
    attempts: attemptsMax,
    pending: pendingMax,
    teamShare,
    atOnce,
    loadShare,
    busyMs,
  } = LIMITS.rechecks;
  const waiting = new Map<string, Waiting>();
  const due = new DueTimes<Waiting>();
  const running = new Map<Waiting, PendingCheck | null>();
  const byTeam = new Map<string, number>();
  let timer: Timer | null = null;
  let timerMs = Number.POSITIVE_INFINITY;
  let stopped = false;

  /** One timer, for the next that is due. */
  function arm(): void {
    const nextMs = stopped ? null : due.nextMs;
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
    const { teamId } = one.question;
    waiting.delete(one.key);
    due.remove(one);
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
    while (!isBusy()) {
      const one = due.take(nowMs);
      if (one === null) break;
      running.set(one, null);
      void recheck(one).finally(() => {
        running.delete(one);
        arm();
      });
    }
    // Requests go first: those that are due look again.
    if (due.nextMs !== null && due.nextMs <= nowMs) {
      timerMs = nowMs + busyMs;
      timer = clock.after(busyMs, begin);
    } else arm();
  }

  async function recheck(one: Waiting): Promise<void> {
    const { address, scope } = one.question;
    try {
      const known = await cache.fetch(scope, address.cacheKey);
      if (stopped || !waiting.has(one.key)) return;
      if (known !== undefined && known.storedAt > one.storedAt) return conclude(one, known, "superseded");
      const check = pool.check(address.normalised, scope);
      running.set(one, check);
      const evidence = await check.evidence;
      if (stopped) return;
      if (evidence === null) return again(one, null, "failed");
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
    if (!waiting.has(one.key)) return;
    const retry = retryAfter(entry.evidence.smtp);
    one.storedAt = entry.storedAt;
    if (retry?.rechecked) again(one, retry.seconds, "put_off");
    else forget(one, result);
  }

  /** Later each time, and not for ever. */
  function again(one: Waiting, seconds: number | null, result: "put_off" | "failed"): void {
    if (!waiting.has(one.key)) return;
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

  function note(question: Waiting["question"], entry: CacheEntry, key: string, seconds: number): void {
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
      question: { teamId, address, scope },
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
      const key = `${question.scope} ${question.address.cacheKey}`;
      const retry = retryAfter(entry.evidence.smtp);
      if (retry?.rechecked) return note(question, entry, key, retry.seconds);
      const known = waiting.get(key);
      if (known !== undefined) forget(known, "superseded");
    },
    stop() {
      stopped = true;
      for (const check of running.values()) check?.cancel();
      due.clear();
      waiting.clear();
      byTeam.clear();
      arm();
    },
    get pending() {
      return waiting.size;
    },
  };
}
