import type { ParsedAddress } from "../../check/address.ts";
import type { CheckTimes } from "../../check/check-times.ts";
import type { Evidence, Scope } from "../../check/evidence.ts";
import type { CheckAsker, CheckPool } from "../../check/pool.ts";
import type { Clock } from "../../core/clock.ts";
import { createDeadlines, type Deadline } from "../../core/deadlines.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { Span } from "../../core/tracing.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { EntryAsker, EvidenceCache } from "../../store/evidence-cache.ts";
import { type Place, sharedPlace } from "./admission.ts";
import type { AnswerNote, FlightTimes } from "./answer-note.ts";
import { spanOf, type TimedFlight, tellLanding, tellLook, timesOf, toldTo } from "./flight-times.ts";

/**
 * Checks under way, one per address and scope however many ask: the first starts it, the others join.
 *
 * A flight outlives the patience of those who wait: at the deadline they are answered `deadline` and the check goes
 * on to fill the cache. It ends early only when every waiting client has gone before its deadline.
 */
export interface Flights {
  /** @returns what `arrival` makes of the landing; rejects with what it throws, and where there is no landing */
  join<T>(question: FlightQuestion, waiter: Waiter, arrival: Arrival<T>): Promise<T>;
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
  /** Where it is traced; null, absent: nowhere. */
  readonly span?: Span | null;
  /** Asked before a check is begun, not before the cache is; null, absent: it may be. */
  place?: Place | null;
  /** Gets what it came to. */
  note?: AnswerNote | null;
}

export type Landing =
  | { entry: CacheEntry; cached: true; failure?: undefined; times?: FlightTimes }
  | { entry: CacheEntry; cached: false; failure?: undefined; times?: FlightTimes }
  | { entry: null; cached: false; failure: "deadline" | "internal_error"; times?: FlightTimes };

/** What becomes of a landing. One of the two is called, once; `failed` too where `landed` throws. */
export interface Arrival<T> {
  landed(landing: Landing): T;
  /** Nothing came of it: whoever waits is told the error. */
  failed(): void;
}

export interface FlightsDeps {
  clock: Clock;
  cache: Pick<EvidenceCache, "look" | "store">;
  pool: Pick<CheckPool, "ask">;
  log: Logger;
  deadlineMs: number;
  /** How long a result is kept, and whether it may leave this process. */
  keep(scope: Scope, address: ParsedAddress, evidence: Evidence): { ttlS: number; shared: boolean };
  /** Told of what every check learnt, once it is in the cache. */
  onLanded(question: FlightQuestion, entry: CacheEntry): void;
}

const DEADLINE: Landing = { entry: null, cached: false, failure: "deadline" };
const BROKEN: Landing = { entry: null, cached: false, failure: "internal_error" };

/** Who waits for a flight. Answered once: by the landing, at the deadline, or since he has gone. */
class Passenger implements Deadline {
  readonly flight: Flight;
  readonly dueMs: number;
  answered = false;
  /** Monotonic; null: the flight began for him. */
  joinedMs: number | null = null;
  readonly #arrival: Arrival<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    flight: Flight,
    dueMs: number,
    arrival: Arrival<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.flight = flight;
    this.dueMs = dueMs;
    this.#arrival = arrival;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  land(landing: Landing): void {
    this.answered = true;
    try {
      this.#resolve(this.#arrival.landed(landing));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.answered = true;
    this.#arrival.failed();
    this.#reject(error);
  }

  due(): void {
    this.flight.promised = true;
    this.flight.dropOff(this);
    this.land(DEADLINE);
  }
}

/** One check for all who ask. It is itself who the cache and the pool answer. */
class Flight implements EntryAsker, CheckAsker, TimedFlight {
  readonly question: FlightQuestion;
  /** Nearly always alone. */
  first: Passenger | null = null;
  others: Set<Passenger> | null = null;
  /** True once it is certain that the answer comes from a check of now, not from the cache. */
  fresh: boolean;
  /** A deadline has passed: somebody was promised that the check goes on. */
  promised = false;
  check: { cancel(): void } | null = null;
  /** Of who began it, or joined; null: whoever asks may have a check. */
  place: Place | null;
  abandoned = false;
  /** As the cache told it; undefined: it was not asked. */
  redisKey: string | undefined = undefined;
  /** Of who began it, where he is traced. */
  readonly span: Span | null;
  thread: CheckTimes | null = null;
  /** Monotonic, when the cache was asked, and the pool; 0: it was not. */
  lookMs = 0;
  askMs = 0;
  readonly #tower: Tower;

  constructor(tower: Tower, question: FlightQuestion, span: Span | null, place: Flight["place"]) {
    this.#tower = tower;
    this.question = question;
    this.place = place;
    this.fresh = question.refresh;
    this.span = span;
  }

  get isTraced(): boolean {
    return this.span !== null;
  }

  timed(times: CheckTimes): void {
    this.thread = times;
  }

  get scope(): Scope {
    return this.question.scope;
  }

  get cacheKey(): string {
    return this.question.address.cacheKey;
  }

  takeOn(passenger: Passenger): void {
    if (this.first === null) this.first = passenger;
    else {
      this.others ??= new Set();
      this.others.add(passenger);
    }
  }

  dropOff(passenger: Passenger): void {
    if (this.first === passenger) this.first = null;
    else this.others?.delete(passenger);
  }

  get isEmpty(): boolean {
    return this.first === null && (this.others === null || this.others.size === 0);
  }

  found(entry: CacheEntry | undefined, redisKey: string): void {
    this.redisKey = redisKey;
    this.#tower.found(this, entry);
  }

  learnt(evidence: Evidence | null): void {
    this.#tower.learnt(this, evidence);
  }

  broke(error: unknown): void {
    this.#tower.broke(this, error);
  }
}

/** What flights tell. */
interface Tower {
  found(flight: Flight, entry: CacheEntry | undefined): void;
  learnt(flight: Flight, evidence: Evidence | null): void;
  broke(flight: Flight, error: unknown): void;
}

/**
 * Steps are called, not awaited, of one object for each flight and one for each who waits, and all deadlines are one timer: as
 * an async function, with a promise for each step and a timer for each who waits, a flight cost 2.5 us; with promises
 * between the steps 1.3, and as much again for who collected them.
 */
export function createFlights(deps: FlightsDeps): Flights {
  /** By the key of the address: strings that were put together would have to be hashed anew. */
  const flights: Record<Scope, Map<string, Flight>> = { probed: new Map(), unprobed: new Map() };
  /** Flights by the team that started them. */
  const flying = new Map<string, number>();
  const deadlines = createDeadlines(deps.clock, LIMITS.flights.deadlineLateMs);

  const tower: Tower = {
    found(flight, entry) {
      if (flight.span !== null) tellLook(flight, entry !== undefined);
      if (entry) land(flight, { entry, cached: true, times: timesOf(deps.clock, flight) });
      else if (flight.abandoned) land(flight, BROKEN);
      else {
        flight.fresh = true;
        check(flight);
      }
    },
    learnt(flight, evidence) {
      if (evidence === null) land(flight, BROKEN);
      else learn(flight, evidence);
    },
    broke(flight, error) {
      if (error instanceof AppError) {
        fail(flight, error);
        return;
      }
      deps.log.error({ err: error }, "a check broke");
      land(flight, BROKEN);
    },
  };

  function takeOff(flight: Flight): void {
    // Who has gone before he came leaves at once.
    if (flight.abandoned) land(flight, BROKEN);
    else if (flight.fresh) check(flight);
    else {
      flight.lookMs = deps.clock.monotonic();
      deps.cache.look(flight);
    }
  }

  function check(flight: Flight): void {
    const { address, scope } = flight.question;
    flight.askMs = deps.clock.monotonic();
    try {
      flight.place?.admit();
      flight.check = deps.pool.ask(address.normalised, scope, flight);
    } catch (error) {
      fail(flight, error);
    }
  }

  function learn(flight: Flight, evidence: Evidence): void {
    const { address, scope } = flight.question;
    let entry: CacheEntry;
    try {
      const { ttlS, shared } = deps.keep(scope, address, evidence);
      entry = { evidence, storedAt: deps.clock.now(), ttlS };
      deps.cache.store(scope, address.cacheKey, entry, shared, flight.redisKey);
      deps.onLanded(flight.question, entry);
    } catch (error) {
      fail(flight, error);
      return;
    }
    land(flight, { entry, cached: false, times: timesOf(deps.clock, flight) });
  }

  function land(flight: Flight, landing: Landing): void {
    end(flight);
    if (flight.span !== null) tellLanding(deps.clock, flight, landing);
    for (const passenger of everybodyOf(flight)) {
      deadlines.remove(passenger);
      passenger.land(toldTo(deps.clock, landing, passenger));
    }
  }

  /** Whoever waits hears of it; when nobody does any more, it must not end the process. */
  function fail(flight: Flight, error: unknown): void {
    end(flight);
    flight.span?.fail(error instanceof AppError ? error.code : "internal_error");
    flight.span?.end();
    for (const passenger of everybodyOf(flight)) {
      deadlines.remove(passenger);
      passenger.fail(error);
    }
  }

  function end(flight: Flight): void {
    alight(flight.question.teamId);
    forget(flight);
  }

  /** Another may have the key by now: one that began after this was abandoned, or for a refresh. */
  function forget(flight: Flight): void {
    const ofScope = flights[flight.scope];
    if (ofScope.get(flight.cacheKey) === flight) ofScope.delete(flight.cacheKey);
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

  function leave(passenger: Passenger): void {
    if (passenger.answered) return;
    const { flight } = passenger;
    deadlines.remove(passenger);
    flight.dropOff(passenger);
    if (flight.isEmpty && !flight.promised) {
      flight.abandoned = true;
      forget(flight);
      flight.check?.cancel();
    }
    passenger.land(BROKEN);
  }

  function wait(passenger: Passenger, waiter: Waiter): void {
    passenger.flight.takeOn(passenger);
    deadlines.add(passenger);
    waiter.onCancel(() => leave(passenger));
  }

  /** One under way whose answer is good enough. */
  function underWay({ scope, address, refresh }: FlightQuestion): Flight | null {
    const flight = flights[scope].get(address.cacheKey);
    return flight !== undefined && (flight.fresh || !refresh) ? flight : null;
  }

  /** @throws AppError `overloaded` */
  function begin(question: FlightQuestion, { span, place }: Waiter): Flight {
    const ofScope = flights[question.scope];
    const { cacheKey } = question.address;
    board(question.teamId);
    const flight = new Flight(tower, question, span ? spanOf(question, span) : null, place ?? null);
    ofScope.set(cacheKey, flight);
    return flight;
  }

  return {
    join<T>(question: FlightQuestion, waiter: Waiter, arrival: Arrival<T>) {
      const under = underWay(question);
      let flight: Flight;
      try {
        flight = under ?? begin(question, waiter);
      } catch (error) {
        arrival.failed();
        return Promise.reject(error);
      }
      return new Promise<T>((resolve, reject) => {
        if (under !== null) waiter.span?.event("joined a check under way", deps.clock.monotonic());
        const dueMs = waiter.startedMs + deps.deadlineMs;
        // It resolves with what its own arrival makes.
        const land = resolve as (value: unknown) => void;
        const passenger = new Passenger(flight, dueMs, arrival, land, reject);
        wait(passenger, waiter);
        if (under === null) return takeOff(flight);
        under.place = sharedPlace(under.place, waiter.place ?? null);
        passenger.joinedMs = deps.clock.monotonic();
      });
    },
    get size() {
      return flights.probed.size + flights.unprobed.size;
    },
  };
}

function everybodyOf({ first, others }: Flight): Passenger[] {
  if (others === null) return first === null ? [] : [first];
  return first === null ? [...others] : [first, ...others];
}
