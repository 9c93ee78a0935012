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
 * Checks under way, one per address and scope however many ask: the first starts it, the others join.
 *
 * A flight outlives the patience of those who wait: at the deadline they are answered `deadline` and the check goes
 * on to fill the cache. It ends early only when every waiting client has gone before its deadline.
 */
export interface InFlightChecks {
  /** @returns what `arrival` makes of the landing; rejects with what it throws, and where there is no landing */
  join<T>(question: CheckQuestion, waiter: VerificationWaiter, arrival: OutcomeHandler<T>): Promise<T>;
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
  /** Told of what every check learnt, once it is in the cache. */
  onSettled(question: CheckQuestion, entry: CacheEntry): void;
}

const BROKEN: InFlightOutcome = { entry: null, cached: false, failure: "internal_error" };

/**
 * Steps are called, not awaited, of one object for each flight and one for each who waits, and all deadlines are one timer: as
 * an async function, with a promise for each step and a timer for each who waits, a flight cost 2.5 us; with promises
 * between the steps 1.3, and as much again for who collected them.
 */
class InFlightMap implements InFlightChecks {
  readonly #deps: InFlightChecksDeps;
  /**
   * By the key of the address: strings that were put together would have to be hashed anew. A check beyond the maximum still
   * runs, it is only not joined any more.
   */
  readonly #flights: Record<Scope, LRUCache<string, InFlightCheck>> = {
    probed: new LRUCache({ max: LIMITS.check.tasksInFlight }),
    unprobed: new LRUCache({ max: LIMITS.check.tasksInFlight }),
  };
  /** Flights by the team that started them. */
  readonly #flying = new Map<string, number>();
  readonly #deadlines: Deadlines;
  readonly #aheadMs: number;
  readonly #tower: InFlightOwner;

  constructor(deps: InFlightChecksDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.clock, LIMITS.inFlightChecks.deadlineLateMs);
    this.#aheadMs = Math.min(LIMITS.inFlightChecks.knownAheadMs, deps.deadlineMs / 2);
    this.#tower = {
      nearlyDue: (flight, passenger) => {
        this.#lookUpKnown(flight);
        this.#deadlines.add(passenger);
      },
      found: (flight, entry) => {
        if (flight.span !== null) recordCacheLookup(flight, entry !== undefined);
        if (entry) this.#land(flight, { entry, cached: true, times: waitTimesOf(deps.clock, flight) });
        else if (flight.isAbandoned) this.#land(flight, BROKEN);
        else {
          flight.fresh = true;
          this.#check(flight);
        }
      },
      learnt: (flight, evidence) => {
        if (evidence === null) this.#land(flight, BROKEN);
        else this.#learn(flight, evidence);
      },
      broke: (flight, error) => {
        if (error instanceof AppError) {
          this.#fail(flight, error);
          return;
        }
        deps.log.error({ err: error }, "a check broke");
        this.#land(flight, BROKEN);
      },
    };
  }

  join<T>(question: CheckQuestion, waiter: VerificationWaiter, arrival: OutcomeHandler<T>): Promise<T> {
    const under = this.#underWay(question);
    let flight: InFlightCheck;
    try {
      flight = under ?? this.#begin(question, waiter);
    } catch (error) {
      arrival.failed();
      return Promise.reject(error);
    }
    return new Promise<T>((resolve, reject) => {
      if (under !== null) waiter.span?.event("joined a check under way", this.#deps.clock.monotonic());
      const due = { deadlineMs: waiter.startedMs + this.#deps.deadlineMs, aheadMs: this.#aheadMs };
      // It resolves with what its own arrival makes.
      const land = resolve as (value: unknown) => void;
      const passenger = new CheckWaiter(flight, due, arrival, land, reject);
      this.#wait(passenger, waiter);
      if (under === null) return this.#takeOff(flight);
      // A request that joins costs no CPU: its slot is free again.
      waiter.slot?.release();
      passenger.joinedMs = this.#deps.clock.monotonic();
    });
  }

  size(): number {
    return this.#flights.probed.size + this.#flights.unprobed.size;
  }

  #takeOff(flight: InFlightCheck): void {
    // Who has gone before he came leaves at once.
    if (flight.isAbandoned) this.#land(flight, BROKEN);
    else if (flight.fresh) this.#check(flight);
    else {
      flight.lookMs = this.#deps.clock.monotonic();
      this.#deps.cache.look(flight);
    }
  }

  #check(flight: InFlightCheck): void {
    const { address, scope } = flight.question;
    flight.askMs = this.#deps.clock.monotonic();
    try {
      flight.slot?.admit();
      flight.task = this.#deps.pool.submit(address.normalised, scope, flight);
    } catch (error) {
      this.#fail(flight, error);
    }
  }

  /** What the DNS and the lists say, which the check has learnt long ago: its thread answers at once, else it is not said. */
  #lookUpKnown(flight: InFlightCheck): void {
    if (flight.known !== undefined || flight.scope === "unprobed" || flight.task === null) return;
    flight.known = null;
    try {
      this.#deps.pool.check(flight.question.address.normalised, "unprobed").evidence.then(
        (evidence) => {
          flight.known = evidence;
        },
        (error: unknown) => this.#deps.log.debug({ err: error }, "what is known could not be looked up"),
      );
    } catch (error) {
      this.#deps.log.debug({ err: error }, "what is known could not be looked up");
    }
  }

  #learn(flight: InFlightCheck, evidence: Evidence): void {
    const { address, scope } = flight.question;
    let entry: CacheEntry;
    try {
      const { ttlS, shared } = this.#deps.keep(scope, address, evidence);
      entry = { evidence, storedAt: this.#deps.clock.now(), ttlS };
      this.#deps.cache.store(scope, address.cacheKey, entry, shared, flight.redisKey);
      this.#deps.onSettled(flight.question, entry);
    } catch (error) {
      this.#fail(flight, error);
      return;
    }
    this.#land(flight, { entry, cached: false, times: waitTimesOf(this.#deps.clock, flight) });
  }

  #land(flight: InFlightCheck, landing: InFlightOutcome): void {
    this.#end(flight);
    if (flight.span !== null) recordOutcome(this.#deps.clock, flight, landing);
    for (const passenger of waitersOf(flight)) {
      this.#deadlines.remove(passenger);
      passenger.settle(outcomeForWaiter(this.#deps.clock, landing, passenger));
    }
  }

  /** Every waiter gets the error. Without waiters it must not become an unhandled rejection. */
  #fail(flight: InFlightCheck, error: unknown): void {
    this.#end(flight);
    flight.span?.fail(error instanceof AppError ? error.code : "internal_error");
    flight.span?.end();
    for (const passenger of waitersOf(flight)) {
      this.#deadlines.remove(passenger);
      passenger.fail(error);
    }
  }

  #end(flight: InFlightCheck): void {
    this.#alight(flight.question.teamId);
    this.#forget(flight);
  }

  /** Another may have the key by now: one that began after this was abandoned, or for a refresh. */
  #forget(flight: InFlightCheck): void {
    const ofScope = this.#flights[flight.scope];
    if (ofScope.get(flight.cacheKey) === flight) ofScope.delete(flight.cacheKey);
  }

  /** @throws AppError `overloaded` when the team has its share of checks under way */
  #board(teamId: string): void {
    const mine = this.#flying.get(teamId) ?? 0;
    if (mine >= LIMITS.check.tasksInFlight / LIMITS.inFlightChecks.teamShare) {
      throw new AppError("overloaded", "Too many checks of this team are under way.", { retryAfterS: 1 });
    }
    this.#flying.set(teamId, mine + 1);
  }

  #alight(teamId: string): void {
    const mine = this.#flying.get(teamId) ?? 0;
    if (mine > 1) this.#flying.set(teamId, mine - 1);
    else this.#flying.delete(teamId);
  }

  #leave(passenger: CheckWaiter): void {
    if (passenger.isAnswered) return;
    const { check: flight } = passenger;
    this.#deadlines.remove(passenger);
    flight.removeWaiter(passenger);
    if (flight.isEmpty && !flight.isPromised) {
      flight.isAbandoned = true;
      this.#forget(flight);
      flight.task?.cancel();
    }
    passenger.settle(BROKEN);
  }

  #wait(passenger: CheckWaiter, waiter: VerificationWaiter): void {
    passenger.check.addWaiter(passenger);
    this.#deadlines.add(passenger);
    waiter.onCancel(() => this.#leave(passenger));
  }

  /** One under way whose answer is good enough. */
  #underWay({ scope, address, refresh }: CheckQuestion): InFlightCheck | null {
    const flight = this.#flights[scope].get(address.cacheKey);
    return flight !== undefined && (flight.fresh || !refresh) ? flight : null;
  }

  /** @throws AppError `overloaded` */
  #begin(question: CheckQuestion, { span, slot: place }: VerificationWaiter): InFlightCheck {
    const ofScope = this.#flights[question.scope];
    const { cacheKey } = question.address;
    this.#board(question.teamId);
    const flight = new InFlightCheck(
      this.#tower,
      question,
      span ? startCheckSpan(question, span) : null,
      place ?? null,
    );
    ofScope.set(cacheKey, flight);
    return flight;
  }
}

export function createInFlightChecks(deps: InFlightChecksDeps): InFlightChecks {
  return new InFlightMap(deps);
}
