import type { ParsedAddress } from "../../check/address.ts";
import type { Evidence, Scope } from "../../check/evidence.ts";
import type { CheckPool, PendingCheck } from "../../check/pool.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { CacheEntry, EvidenceCache } from "../../store/evidence-cache.ts";

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

interface Flight {
  landed: Promise<Landing>;
  /** True once it is certain that the answer comes from a check of now, not from the cache. */
  fresh: boolean;
  waiting: number;
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

export function createFlights(deps: FlightsDeps): Flights {
  const flights = new Map<string, Flight>();
  /** Flights by the team that started them. */
  const flying = new Map<string, number>();

  async function fly(flight: Flight, question: FlightQuestion): Promise<Landing> {
    const { address, scope } = question;
    if (!flight.fresh) {
      const entry = await deps.cache.fetch(scope, address.cacheKey);
      if (entry) return { entry, cached: true };
      if (flight.abandoned) return BROKEN;
      flight.fresh = true;
    }
    flight.check = deps.pool.check(address.normalised, scope);
    const evidence = await flight.check.evidence.catch((error: unknown) => {
      if (error instanceof AppError) throw error;
      deps.log.error({ err: error }, "a check broke");
      return null;
    });
    if (evidence === null) return BROKEN;
    const { ttlS, shared } = deps.keep(scope, address, evidence);
    const entry = { evidence, storedAt: deps.clock.now(), ttlS };
    deps.cache.store(scope, address.cacheKey, entry, shared);
    deps.onLanded(question, entry);
    return { entry, cached: false };
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

  function depart(key: string, question: FlightQuestion): Flight {
    board(question.teamId);
    const flight: Flight = {
      landed: Promise.resolve(BROKEN),
      fresh: question.refresh,
      waiting: 0,
      promised: false,
      check: null,
      abandoned: false,
    };
    flight.landed = fly(flight, question).finally(() => {
      alight(question.teamId);
      if (flights.get(key) === flight) flights.delete(key);
    });
    // Whoever waits hears of a failure; when nobody does any more, it must not end the process.
    flight.landed.catch(() => {});
    flights.set(key, flight);
    return flight;
  }

  function leave(key: string, flight: Flight): void {
    flight.waiting -= 1;
    if (flight.waiting > 0 || flight.promised) return;
    flight.abandoned = true;
    if (flights.get(key) === flight) flights.delete(key);
    flight.check?.cancel();
  }

  function wait(key: string, flight: Flight, waiter: Waiter): Promise<Landing> {
    flight.waiting += 1;
    return new Promise((resolve, reject) => {
      let answered = false;
      const leftMs = waiter.startedMs + deps.deadlineMs - deps.clock.monotonic();
      const timer = deps.clock.after(Math.max(0, leftMs), () => {
        answered = true;
        flight.promised = true;
        resolve(DEADLINE);
      });
      waiter.onCancel(() => {
        if (answered) return;
        timer.cancel();
        leave(key, flight);
        resolve(BROKEN);
      });
      const settle =
        <T>(end: (value: T) => void) =>
        (value: T) => {
          answered = true;
          timer.cancel();
          end(value);
        };
      flight.landed.then(settle(resolve), settle(reject));
    });
  }

  return {
    async join(question, waiter) {
      const key = `${question.scope} ${question.address.cacheKey}`;
      const under = flights.get(key);
      const joinable = under !== undefined && (under.fresh || !question.refresh);
      return wait(key, joinable ? under : depart(key, question), waiter);
    },
    get size() {
      return flights.size;
    },
  };
}
