import type { ParsedAddress } from "../../check/address.ts";
import type { CheckTimes } from "../../check/check-times.ts";
import type { Evidence, Scope } from "../../check/evidence.ts";
import type { CheckAsker } from "../../check/pool.ts";
import type { Deadline } from "../../core/deadlines.ts";
import type { Span } from "../../core/tracing.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import type { EntryAsker } from "../../store/evidence-cache.ts";
import type { Place } from "./admission.ts";
import type { AnswerNote, FlightTimes } from "./answer-note.ts";
import type { TimedFlight } from "./flight-times.ts";
import type { Question } from "./question.ts";

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
  /** Understood before; null, absent: it was not. */
  question?: Question | null;
  /** Gets what it came to. */
  note?: AnswerNote | null;
}

export type Landing =
  | { entry: CacheEntry; cached: true; failure?: undefined; times?: FlightTimes }
  | { entry: CacheEntry; cached: false; failure?: undefined; times?: FlightTimes }
  | {
      entry: null;
      cached: false;
      failure: "deadline" | "internal_error";
      times?: FlightTimes;
      /** Of a deadline: what was known of the address without its mail server; null, absent: nothing. */
      known?: Evidence | null;
    };

/** What becomes of a landing. One of the two is called, once; `failed` too where `landed` throws. */
export interface Arrival<T> {
  landed(landing: Landing): T;
  /** Nothing came of it: whoever waits is told the error. */
  failed(): void;
}

/** Who waits for a flight. Answered once: by the landing, at the deadline, or since he has gone. */
export class Passenger implements Deadline {
  readonly flight: Flight;
  /** The deadline, or shortly before it, when what is known is looked up. */
  dueMs: number;
  answered = false;
  before: Deadline["before"] = null;
  behind: Deadline["behind"] = null;
  /** Monotonic; null: the flight began for him. */
  joinedMs: number | null = null;
  readonly #deadlineMs: number;
  readonly #arrival: Arrival<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  /** @param aheadMs so long before its deadline it is due for the first time */
  constructor(
    flight: Flight,
    { deadlineMs, aheadMs }: { deadlineMs: number; aheadMs: number },
    arrival: Arrival<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.flight = flight;
    this.#deadlineMs = deadlineMs;
    this.dueMs = deadlineMs - aheadMs;
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
    if (this.dueMs < this.#deadlineMs) {
      this.dueMs = this.#deadlineMs;
      this.flight.nearlyDue(this);
      return;
    }
    this.flight.promised = true;
    this.flight.dropOff(this);
    this.land({ entry: null, cached: false, failure: "deadline", known: this.flight.known ?? null });
  }
}

/** One check for all who ask. It is itself who the cache and the pool answer. */
export class Flight implements EntryAsker, CheckAsker, TimedFlight {
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
  /** What is known without the mail server; null: not yet; undefined: it was not looked up. */
  known: Evidence | null | undefined = undefined;
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

  nearlyDue(passenger: Passenger): void {
    this.#tower.nearlyDue(this, passenger);
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
export interface Tower {
  /** The deadline of a waiter is near. */
  nearlyDue(flight: Flight, passenger: Passenger): void;
  found(flight: Flight, entry: CacheEntry | undefined): void;
  learnt(flight: Flight, evidence: Evidence | null): void;
  broke(flight: Flight, error: unknown): void;
}

/** All who wait for it. */
export function everybodyOf({ first, others }: Flight): Passenger[] {
  if (others === null) return first === null ? [] : [first];
  return first === null ? [...others] : [first, ...others];
}
