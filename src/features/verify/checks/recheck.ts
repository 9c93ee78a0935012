import { LIMITS } from "../../../config/limits/limits.ts";
import type { CheckPool, PendingCheck } from "../../../engine/threads/pool.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock, Timer } from "../../../platform/time/clock.ts";
import { createDeadlines, type Deadlines } from "../../../platform/time/deadlines.ts";
import { runAfterCurrentCall } from "../../../platform/time/ticks.ts";
import type { Evidence, SmtpClass } from "../../../verification/evidence.ts";
import { retryAfter } from "../answer/retry-after.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EvidenceCache } from "../cache/evidence-cache.ts";
import type { CheckQuestion, InFlightChecksDeps } from "./in-flight-checks.ts";
import { RecheckQueue } from "./recheck-queue.ts";

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
 * Repeats checks in the background whose servers deferred us: greylisting accepts a sender that comes back. The same
 * process asks, hence with the same sender over the same route. Its result replaces the cache's entry, for all processes.
 * No request waits for it, and no team is charged for it. It has lower priority than requests, and ends with the process:
 * then the next check is from an unknown sender again.
 */
export interface Rechecks {
  /** A check of now has ended so. Put off: it is asked again in time. Else nothing is left to ask. */
  onSettled(question: SettledQuestion, entry: CacheEntry): void;
  /** Forgets waiting rechecks, and cancels those in progress. */
  stop(): void;
  readonly pending: number;
}

type SettledQuestion = Pick<CheckQuestion, "teamId" | "address" | "scope">;

export interface RechecksDeps {
  clock: Clock;
  log: Logger;
  pool: Pick<CheckPool, "check" | "inFlight">;
  cache: Pick<EvidenceCache, "fetch" | "store">;
  keep: InFlightChecksDeps["keep"];
  /** The site that would be asked. */
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
  question: Pick<CheckQuestion, "address" | "scope">;
  attempts: number;
  /** Epoch milliseconds of the evidence it rests on. */
  storedAt: number;
  dueMs: number;
  /** Until it is due. */
  timer: Timer | null;
}

/** True for evidence about the mailbox or the domain, which a failed recheck must not replace. */
function isAnswer({ smtp }: Evidence): boolean {
  return smtp === null || ANSWERS.has(smtp.class);
}

const {
  attempts: attemptsMax,
  pending: pendingMax,
  teamShare,
  atOnce,
  perSite,
  loadShare,
  busyMs,
  lateMs,
} = LIMITS.rechecks;

class RefreshRechecks implements Rechecks {
  readonly #deps: RechecksDeps;
  readonly #waiting = new Map<string, Waiting>();
  readonly #due: Deadlines;
  /** Those that are due and wait for room. */
  readonly #turns = new RecheckQueue<Waiting>();
  readonly #running = new Map<Waiting, PendingCheck | null>();
  readonly #runningAt = new Map<string, number>();
  readonly #byTeam = new Map<string, number>();
  /** When those that are due look for room again. */
  #nextLook: Timer | null = null;
  #beginsSoon = false;
  #stopped = false;

  constructor(deps: RechecksDeps) {
    this.#deps = deps;
    this.#due = createDeadlines(deps.clock, lateMs);
  }

  onSettled(question: SettledQuestion, entry: CacheEntry): void {
    if (this.#stopped) return;
    const retry = retryAfter(entry.evidence.smtp);
    if (this.#waiting.size === 0 && retry?.rechecked !== true) return;
    const key = `${question.scope} ${question.address.cacheKey}`;
    if (retry?.rechecked) {
      this.#note(question, entry, key, retry.seconds);
      return;
    }
    const known = this.#waiting.get(key);
    if (known !== undefined) this.#forget(known, "superseded");
  }

  stop(): void {
    this.#stopped = true;
    for (const check of this.#running.values()) check?.cancel();
    for (const { timer } of this.#waiting.values()) timer?.cancel();
    this.#nextLook?.cancel();
    this.#turns.clear();
    this.#waiting.clear();
    this.#byTeam.clear();
  }

  get pending(): number {
    return this.#waiting.size;
  }

  #schedule(one: Waiting, dueMs: number): void {
    one.dueMs = dueMs;
    one.timer = this.#due.at(dueMs, () => {
      this.#turns.add(one);
      this.#beginSoon();
    });
  }

  /** Those that are due at one time take turns: they begin when all of them are in the queue. */
  #beginSoon(): void {
    if (this.#beginsSoon) return;
    this.#beginsSoon = true;
    runAfterCurrentCall(() => {
      this.#beginsSoon = false;
      if (!this.#stopped) this.#begin();
    });
  }

  #forget(one: Waiting, result: RecheckResult): void {
    const { teamId } = one;
    this.#waiting.delete(one.key);
    one.timer?.cancel();
    this.#turns.remove(one);
    const left = (this.#byTeam.get(teamId) ?? 1) - 1;
    if (left > 0) this.#byTeam.set(teamId, left);
    else this.#byTeam.delete(teamId);
    this.#deps.onEnd(result);
  }

  #isBusy(): boolean {
    return this.#running.size >= atOnce || this.#deps.pool.inFlight >= LIMITS.check.tasksInFlight / loadShare;
  }

  #begin(): void {
    while (!this.#isBusy()) {
      const one = this.#turns.take((site) => (this.#runningAt.get(site) ?? 0) < perSite);
      if (one === null) break;
      this.#run(one);
    }
    // Requests go first: those that are due look again.
    this.#nextLook?.cancel();
    this.#nextLook = this.#turns.size > 0 ? this.#deps.clock.after(busyMs, () => this.#begin()) : null;
  }

  #run(one: Waiting): void {
    const { site } = one;
    this.#running.set(one, null);
    this.#runningAt.set(site, (this.#runningAt.get(site) ?? 0) + 1);
    void this.#recheck(one).finally(() => {
      this.#running.delete(one);
      const left = (this.#runningAt.get(site) ?? 1) - 1;
      if (left > 0) this.#runningAt.set(site, left);
      else this.#runningAt.delete(site);
      if (!this.#stopped) this.#begin();
    });
  }

  async #recheck(one: Waiting): Promise<void> {
    const { address, scope } = one.question;
    try {
      const known = await this.#deps.cache.fetch(scope, address.cacheKey);
      if (this.#stopped || this.#waiting.get(one.key) !== one) return;
      if (known !== undefined && known.storedAt > one.storedAt)
        return this.#conclude(one, known, "superseded");
      const check = this.#deps.pool.check(address.normalised, scope);
      this.#running.set(one, check);
      const evidence = await check.evidence;
      if (this.#stopped) return;
      if (evidence === null) return this.#again(one, null, "failed");
      const fresher = await this.#deps.cache.fetch(scope, address.cacheKey);
      if (this.#stopped || this.#waiting.get(one.key) !== one) return;
      if (fresher !== undefined && fresher.storedAt > one.storedAt)
        return this.#conclude(one, fresher, "superseded");
      if (fresher !== undefined && isAnswer(fresher.evidence) && !isAnswer(evidence))
        return this.#again(one, retryAfter(evidence.smtp)?.seconds ?? null, "failed");
      const entry = this.#stored(one, evidence);
      this.#conclude(one, entry, "settled");
    } catch (error) {
      this.#deps.log.debug({ err: error }, "an address could not be asked about again");
      if (!this.#stopped) this.#again(one, null, "failed");
    }
  }

  #stored({ question: { scope, address } }: Waiting, evidence: Evidence): CacheEntry {
    const { ttlS, shared } = this.#deps.keep(scope, address, evidence);
    const entry = { evidence, storedAt: this.#deps.clock.now(), ttlS };
    this.#deps.cache.store(scope, address.cacheKey, entry, shared);
    return entry;
  }

  #conclude(one: Waiting, entry: CacheEntry, result: "settled" | "superseded"): void {
    if (this.#waiting.get(one.key) !== one) return;
    const retry = retryAfter(entry.evidence.smtp);
    one.storedAt = entry.storedAt;
    if (retry?.rechecked) this.#again(one, retry.seconds, "put_off");
    else this.#forget(one, result);
  }

  /** Later each time, and not for ever. */
  #again(one: Waiting, seconds: number | null, result: "put_off" | "failed"): void {
    if (this.#waiting.get(one.key) !== one) return;
    one.attempts += 1;
    if (one.attempts >= attemptsMax) {
      this.#forget(one, "given_up");
      return;
    }
    this.#deps.onEnd(result);
    const { usualS, maxS } = LIMITS.rechecks;
    const waitS = Math.min(maxS, (seconds ?? usualS) * 2 ** one.attempts);
    this.#schedule(one, this.#deps.clock.monotonic() + waitS * 1_000);
  }

  #note(question: SettledQuestion, entry: CacheEntry, key: string, seconds: number): void {
    const dueMs = this.#deps.clock.monotonic() + seconds * 1_000;
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      // Asked meanwhile, and put off again: no later than was planned.
      known.storedAt = entry.storedAt;
      if (this.#running.has(known) || known.dueMs <= dueMs) return;
      known.timer?.cancel();
      this.#schedule(known, dueMs);
      return;
    }
    const mine = this.#byTeam.get(question.teamId) ?? 0;
    if (this.#waiting.size >= pendingMax || mine >= pendingMax / teamShare) {
      this.#deps.onEnd("turned_away");
      return;
    }
    this.#byTeam.set(question.teamId, mine + 1);
    const { teamId, address, scope } = question;
    const one: Waiting = {
      key,
      teamId,
      site: this.#deps.siteOf(entry.evidence, address.domain),
      question: { address, scope },
      attempts: 0,
      storedAt: entry.storedAt,
      dueMs,
      timer: null,
    };
    this.#waiting.set(key, one);
    this.#schedule(one, dueMs);
  }
}

export function createRechecks(deps: RechecksDeps): Rechecks {
  return new RefreshRechecks(deps);
}
