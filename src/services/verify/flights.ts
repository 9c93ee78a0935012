import type { ParsedAddress } from "../../check/address.ts";
import type { Evidence, Scope } from "../../check/evidence.ts";
import type { CheckPool, PendingCheck } from "../../check/pool.ts";
import type { Clock } from "../../core/clock.ts";
import { createDeadlines } from "../../core/deadlines.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { EvidenceCache } from "../../store/evidence-cache.ts";

/**
 * Checks under way, one per address and scope however many ask: the first starts it, the others join.
 *
 * A flight outlives the patience of those who wait: at the deadline they are answered `deadline` and the check goes
 * on to fill the cache. It ends early only when every waiting client has gone before its deadline.
 */
export interface Flights {
  join(question: FlightQuestion, waiter: Waiter): Promise<Landing>;
  readonly size: number;
}

export interface FlightQuestion {
  /** Who pays: no team may have all checks to itself. */
  teamId: string;
  address: ParsedAddress;
  scope: Scope;
  /** Do not be content with what Redis knows. */
  refresh: boolean;
}

export interface Waiter {
  /** `Clock.monotonic` milliseconds when the request came: its deadline counts from there. */
  startedMs: number;
  cancelled(): boolean;
  onCancel(callback: () => void): void;
}

export type Landing =
  | { entry: CacheEntry; cached: true; failure?: undefined }
  | { entry: CacheEntry; cached: false; failure?: undefined }
  | { entry: null; cached: false; failure: "deadline" | "internal_error" };

/** Who waits for a flight. Answered once: by the landing, at the deadline, or since he has gone. */
interface Passenger {
  land(landing: Landing): void;
  fail(error: unknown): void;
}

interface Flight {
  key: string;
  question: FlightQuestion;
  passengers: Set<Passenger>;
  /** True once it is certain that the answer comes from a check of now, not from the cache. */
  fresh: boolean;
  /** A deadline has passed: somebody was promised that the check goes on. */
  promised: boolean;
  check: PendingCheck | null;
  abandoned: boolean;
}

export interface FlightsDeps {
  clock: Clock;
  cache: Pick<EvidenceCache, "fetch" | "store">;
  pool: Pick<CheckPool, "check">;
  log: Logger;
  deadlineMs: number;
  /** How long a result is kept, and whether it may leave this process. */
  keep(scope: Scope, address: ParsedAddress, evidence: Evidence): { ttlS: number; shared: boolean };
  /** Told of what every check learnt, once it is in the cache. */
  onLanded(question: FlightQuestion, entry: CacheEntry): void;
}

const DEADLINE: Landing = { entry: null, cached: false, failure: "deadline" };
const BROKEN: Landing = { entry: null, cached: false, failure: "internal_error" };

/**
 * Steps are called, not awaited, and all deadlines are one timer: as an async function, with a promise for each step and a
 * timer for each who waits, a flight cost 2.5 us instead of 1.3.
 */
export function createFlights(deps: FlightsDeps): Flights {
  const flights = new Map<string, Flight>();
  /** Flights by the team that started them. */
  const flying = new Map<string, number>();
  const deadlines = createDeadlines(deps.clock, LIMITS.flights.deadlineLateMs);

  function takeOff(flight: Flight): void {
    // Who has gone before he came leaves at once.
    if (flight.abandoned) {
      land(flight, BROKEN);
      return;
    }
    const { address, scope } = flight.question;
    if (flight.fresh) {
      check(flight);
      return;
    }
    deps.cache.fetch(scope, address.cacheKey).then(
      (entry) => {
        if (entry) return land(flight, { entry, cached: true });
        if (flight.abandoned) return land(flight, BROKEN);
        flight.fresh = true;
        check(flight);
      },
      (error: unknown) => fail(flight, error),
    );
  }

  function check(flight: Flight): void {
    const { address, scope } = flight.question;
    try {
      flight.check = deps.pool.check(address.normalised, scope);
    } catch (error) {
      fail(flight, error);
      return;
    }
    flight.check.evidence.then(
      (evidence) => (evidence === null ? land(flight, BROKEN) : learn(flight, evidence)),
      (error: unknown) => {
        if (error instanceof AppError) return fail(flight, error);
        deps.log.error({ err: error }, "a check broke");
        land(flight, BROKEN);
      },
    );
  }

  function learn(flight: Flight, evidence: Evidence): void {
    const { address, scope } = flight.question;
    try {
      const { ttlS, shared } = deps.keep(scope, address, evidence);
      const entry = { evidence, storedAt: deps.clock.now(), ttlS };
      deps.cache.store(scope, address.cacheKey, entry, shared);
      deps.onLanded(flight.question, entry);
      land(flight, { entry, cached: false });
    } catch (error) {
      fail(flight, error);
    }
  }

  function land(flight: Flight, landing: Landing): void {
    end(flight);
    for (const passenger of flight.passengers) passenger.land(landing);
  }

  /** Whoever waits hears of it; when nobody does any more, it must not end the process. */
  function fail(flight: Flight, error: unknown): void {
    end(flight);
    for (const passenger of flight.passengers) passenger.fail(error);
  }

  function end(flight: Flight): void {
    alight(flight.question.teamId);
    forget(flight);
  }

  /** Another may have the key by now: one that began after this was abandoned, or for a refresh. */
  function forget(flight: Flight): void {
    if (flights.get(flight.key) === flight) flights.delete(flight.key);
  }

  /** @throws AppError `overloaded` when the team has its share of checks under way */
  function board(teamId: string): void {
    const mine = flying.get(teamId) ?? 0;
    if (mine >= LIMITS.check.tasksInFlight / LIMITS.flights.teamShare) {
      throw new AppError("overloaded", "Too many checks of this team are under way.", { retryAfterS: 1 });
    }
    flying.set(teamId, mine + 1);
  }

  function alight(teamId: string): void {
    const mine = flying.get(teamId) ?? 0;
    if (mine > 1) flying.set(teamId, mine - 1);
    else flying.delete(teamId);
  }

  function leave(flight: Flight, passenger: Passenger): void {
    flight.passengers.delete(passenger);
    if (flight.passengers.size > 0 || flight.promised) return;
    flight.abandoned = true;
    forget(flight);
    flight.check?.cancel();
  }

  function wait(
    flight: Flight,
    waiter: Waiter,
    resolve: (landing: Landing) => void,
    reject: (error: unknown) => void,
  ): void {
    let answered = false;
    const passenger: Passenger = {
      land(landing) {
        answered = true;
        deadline.cancel();
        resolve(landing);
      },
      fail(error) {
        answered = true;
        deadline.cancel();
        reject(error);
      },
    };
    flight.passengers.add(passenger);
    const deadline = deadlines.at(waiter.startedMs + deps.deadlineMs, () => {
      answered = true;
      flight.promised = true;
      flight.passengers.delete(passenger);
      resolve(DEADLINE);
    });
    waiter.onCancel(() => {
      if (answered) return;
      deadline.cancel();
      leave(flight, passenger);
      resolve(BROKEN);
    });
  }

  return {
    join(question, waiter) {
      // What is thrown in here rejects.
      return new Promise((resolve, reject) => {
        const key = `${question.scope} ${question.address.cacheKey}`;
        const under = flights.get(key);
        if (under !== undefined && (under.fresh || !question.refresh)) {
          wait(under, waiter, resolve, reject);
          return;
        }
        board(question.teamId);
        const flight: Flight = {
          key,
          question,
          passengers: new Set(),
          fresh: question.refresh,
          promised: false,
          check: null,
          abandoned: false,
        };
        flights.set(key, flight);
        wait(flight, waiter, resolve, reject);
        takeOff(flight);
      });
    },
    get size() {
      return flights.size;
    },
  };
}
