import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { CheckPool } from "../../../engine/threads/pool.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { createDeadlines, type Deadlines } from "../../../platform/time/deadlines.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EvidenceCache } from "../cache/evidence-cache.ts";
import {
  type CheckQuestion,
  CheckWaiter,
  InFlightCheck,
  type InFlightOutcome,
  type InFlightOwner,
  type OutcomeHandler,
  type VerificationWaiter,
  waitersOf,
} from "./in-flight-check.ts";
import {
  outcomeForWaiter,
  recordCacheLookup,
  recordOutcome,
  startCheckSpan,
  waitTimesOf,
} from "./wait-times.ts";

export type {
  CheckQuestion,
  InFlightOutcome,
  OutcomeHandler,
  VerificationWaiter,
} from "./in-flight-check.ts";

/**
 * Checks in flight: one per address and scope, for any number of requests. The first request starts it, the others join. A
 * check goes on after the deadline of its waiters: they are answered `deadline`, and the check fills the cache. It ends
 * early only when every waiting client has disconnected before its deadline.
 */
export interface InFlightChecks {
  /**
   * @returns the result of `handler` for the outcome; rejects with an error of `handler`, and when the check has no outcome
   */
  join<T>(question: CheckQuestion, caller: VerificationWaiter, handler: OutcomeHandler<T>): Promise<T>;
  size(): number;
}

export interface InFlightChecksDeps {
  clock: Clock;
  cache: Pick<EvidenceCache, "look" | "store">;
  pool: Pick<CheckPool, "submit" | "check">;
  log: Logger;
  deadlineMs: number;
  /** How long a result is kept, and whether it may leave this process. */
  keep(scope: Scope, address: ParsedAddress, evidence: Evidence): { ttlS: number; shared: boolean };
  /** Called with the evidence of each check, once it is in the cache. */
  onSettled(question: CheckQuestion, entry: CacheEntry): void;
}

const BROKEN: InFlightOutcome = { entry: null, cached: false, failure: "internal_error" };

/**
 * Its steps are method calls on one object per check and one per waiter, and all deadlines share one timer. An async function
 * with a promise per step and a timer per waiter cost 2.5 us a check; with promises between the steps alone it cost 1.3 us, and
 * the garbage collector as much again.
 */
class InFlightMap implements InFlightChecks {
  readonly #deps: InFlightChecksDeps;
  /**
   * By the cache key of the address: a concatenated string would have to be hashed each time. A check evicted at the
   * maximum still runs, but can no longer be joined.
   */
  readonly #checks: Record<Scope, LRUCache<string, InFlightCheck>> = {
    probed: new LRUCache({ max: LIMITS.check.tasksInFlight }),
    unprobed: new LRUCache({ max: LIMITS.check.tasksInFlight }),
  };
  /** Number of checks by the team that started them. */
  readonly #checksOfTeam = new Map<string, number>();
  readonly #deadlines: Deadlines;
  readonly #aheadMs: number;
  readonly #owner: InFlightOwner;

  constructor(deps: InFlightChecksDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.clock, LIMITS.inFlightChecks.deadlineLateMs);
    this.#aheadMs = Math.min(LIMITS.inFlightChecks.knownAheadMs, deps.deadlineMs / 2);
    this.#owner = {
      nearlyDue: (check, waiter) => {
        this.#lookUpKnown(check);
        this.#deadlines.add(waiter);
      },
      found: (check, entry) => {
        if (check.span !== null) recordCacheLookup(check, entry !== undefined);
        if (entry) this.#settle(check, { entry, cached: true, times: waitTimesOf(deps.clock, check) });
        else if (check.isAbandoned) this.#settle(check, BROKEN);
        else {
          check.fresh = true;
          this.#check(check);
        }
      },
      learnt: (check, evidence) => {
        if (evidence === null) this.#settle(check, BROKEN);
        else this.#learn(check, evidence);
      },
      broke: (check, error) => {
        if (error instanceof AppError) {
          this.#fail(check, error);
          return;
        }
        deps.log.error({ err: error }, "a check broke");
        this.#settle(check, BROKEN);
      },
    };
  }

  join<T>(question: CheckQuestion, caller: VerificationWaiter, handler: OutcomeHandler<T>): Promise<T> {
    const joined = this.#joinable(question);
    let check: InFlightCheck;
    try {
      check = joined ?? this.#begin(question, caller);
    } catch (error) {
      handler.failed();
      return Promise.reject(error);
    }
    return new Promise<T>((resolve, reject) => {
      if (joined !== null) caller.span?.event("joined a check under way", this.#deps.clock.monotonic());
      const due = { deadlineMs: caller.startedMs + this.#deps.deadlineMs, aheadMs: this.#aheadMs };
      // It resolves with the result of its own handler.
      const settle = resolve as (value: unknown) => void;
      const waiter = new CheckWaiter(check, due, handler, settle, reject);
      this.#wait(waiter, caller);
      if (joined === null) return this.#start(check);
      // A request that joins costs no CPU: its slot is free again.
      caller.slot?.release();
      waiter.joinedMs = this.#deps.clock.monotonic();
    });
  }

  size(): number {
    return this.#checks.probed.size + this.#checks.unprobed.size;
  }

  #start(check: InFlightCheck): void {
    // The client had disconnected before the check started.
    if (check.isAbandoned) this.#settle(check, BROKEN);
    else if (check.fresh) this.#check(check);
    else {
      check.lookMs = this.#deps.clock.monotonic();
      this.#deps.cache.look(check);
    }
  }

  #check(check: InFlightCheck): void {
    const { address, scope } = check.question;
    check.askMs = this.#deps.clock.monotonic();
    try {
      check.slot?.admit();
      check.task = this.#deps.pool.submit(address.normalised, scope, check);
    } catch (error) {
      this.#fail(check, error);
    }
  }

  /**
   * Requests the evidence of DNS and lists. The check has long had it, so its thread answers at once; otherwise it is left
   * out.
   */
  #lookUpKnown(check: InFlightCheck): void {
    if (check.known !== undefined || check.scope === "unprobed" || check.task === null) return;
    check.known = null;
    try {
      this.#deps.pool.check(check.question.address.normalised, "unprobed").evidence.then(
        (evidence) => {
          check.known = evidence;
        },
        (error: unknown) => this.#deps.log.debug({ err: error }, "what is known could not be looked up"),
      );
    } catch (error) {
      this.#deps.log.debug({ err: error }, "what is known could not be looked up");
    }
  }

  #learn(check: InFlightCheck, evidence: Evidence): void {
    const { address, scope } = check.question;
    let entry: CacheEntry;
    try {
      const { ttlS, shared } = this.#deps.keep(scope, address, evidence);
      entry = { evidence, storedAt: this.#deps.clock.now(), ttlS };
      this.#deps.cache.store(scope, address.cacheKey, entry, shared, check.redisKey);
      this.#deps.onSettled(check.question, entry);
    } catch (error) {
      this.#fail(check, error);
      return;
    }
    this.#settle(check, { entry, cached: false, times: waitTimesOf(this.#deps.clock, check) });
  }

  #settle(check: InFlightCheck, outcome: InFlightOutcome): void {
    this.#end(check);
    if (check.span !== null) recordOutcome(this.#deps.clock, check, outcome);
    for (const waiter of waitersOf(check)) {
      this.#deadlines.remove(waiter);
      waiter.settle(outcomeForWaiter(this.#deps.clock, outcome, waiter));
    }
  }

  /** Every waiter gets the error. Without waiters it must not become an unhandled rejection. */
  #fail(check: InFlightCheck, error: unknown): void {
    this.#end(check);
    check.span?.fail(error instanceof AppError ? error.code : "internal_error");
    check.span?.end();
    for (const waiter of waitersOf(check)) {
      this.#deadlines.remove(waiter);
      waiter.fail(error);
    }
  }

  #end(check: InFlightCheck): void {
    this.#countEnd(check.question.teamId);
    this.#forget(check);
  }

  /** Another check may have the key by now: one that began after this one was abandoned, or for a refresh. */
  #forget(check: InFlightCheck): void {
    const ofScope = this.#checks[check.scope];
    if (ofScope.get(check.cacheKey) === check) ofScope.delete(check.cacheKey);
  }

  /** @throws AppError `overloaded` when the team has its share of checks under way */
  #countStart(teamId: string): void {
    const mine = this.#checksOfTeam.get(teamId) ?? 0;
    if (mine >= LIMITS.check.tasksInFlight / LIMITS.inFlightChecks.teamShare) {
      throw new AppError("overloaded", "Too many checks of this team are under way.", { retryAfterS: 1 });
    }
    this.#checksOfTeam.set(teamId, mine + 1);
  }

  #countEnd(teamId: string): void {
    const mine = this.#checksOfTeam.get(teamId) ?? 0;
    if (mine > 1) this.#checksOfTeam.set(teamId, mine - 1);
    else this.#checksOfTeam.delete(teamId);
  }

  #leave(waiter: CheckWaiter): void {
    if (waiter.isAnswered) return;
    const { check } = waiter;
    this.#deadlines.remove(waiter);
    check.removeWaiter(waiter);
    if (check.isEmpty && !check.isPromised) {
      check.isAbandoned = true;
      this.#forget(check);
      check.task?.cancel();
    }
    waiter.settle(BROKEN);
  }

  #wait(waiter: CheckWaiter, caller: VerificationWaiter): void {
    waiter.check.addWaiter(waiter);
    this.#deadlines.add(waiter);
    caller.onCancel(() => this.#leave(waiter));
  }

  /** A check in flight whose answer is recent enough. */
  #joinable({ scope, address, refresh }: CheckQuestion): InFlightCheck | null {
    const check = this.#checks[scope].get(address.cacheKey);
    return check !== undefined && (check.fresh || !refresh) ? check : null;
  }

  /** @throws AppError `overloaded` */
  #begin(question: CheckQuestion, { span, slot }: VerificationWaiter): InFlightCheck {
    const ofScope = this.#checks[question.scope];
    const { cacheKey } = question.address;
    this.#countStart(question.teamId);
    const check = new InFlightCheck(
      this.#owner,
      question,
      span ? startCheckSpan(question, span) : null,
      slot ?? null,
    );
    ofScope.set(cacheKey, check);
    return check;
  }
}

export function createInFlightChecks(deps: InFlightChecksDeps): InFlightChecks {
  return new InFlightMap(deps);
}
