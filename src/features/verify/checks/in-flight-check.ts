import type { CheckTimes } from "../../../engine/check-times.ts";
import type { CheckListener } from "../../../engine/threads/pool.ts";
import type { Span } from "../../../platform/telemetry/tracing.ts";
import type { Deadline } from "../../../platform/time/deadlines.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import type { AnswerNote, CachedAnswer, WaitTimes } from "../answer/answer-note.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EntryWaiter } from "../cache/evidence-cache.ts";
import type { AdmissionSlot } from "./admission.ts";
import type { TimedCheck } from "./wait-times.ts";

export interface CheckQuestion {
  /** Who pays: no team may have all checks to itself. */
  teamId: string;
  address: ParsedAddress;
  scope: Scope;
  /** Do not be content with what Redis knows. */
  refresh: boolean;
}

export interface VerificationWaiter {
  /** `Clock.monotonic` milliseconds when the request came: its deadline counts from there. */
  startedMs: number;
  cancelled(): boolean;
  onCancel(callback: () => void): void;
  /** Where it is traced; null, absent: nowhere. */
  readonly span?: Span | null;
  /** Asked before a check is begun, not before the cache is; null, absent: it may be. */
  slot?: AdmissionSlot | null;
  /** Understood before; null, absent: it was not. */
  addressQuestion?: AddressQuestion | null;
  /** What the cache has of it, drawn before; null, absent: that was not found. */
  cachedAnswer?: CachedAnswer | null;
  /** Gets what it came to. */
  note?: AnswerNote | null;
}

export type InFlightOutcome =
  | { entry: CacheEntry; cached: true; failure?: undefined; times?: WaitTimes }
  | { entry: CacheEntry; cached: false; failure?: undefined; times?: WaitTimes }
  | {
      entry: null;
      cached: false;
      failure: "deadline" | "internal_error";
      times?: WaitTimes;
      /** Of a deadline: what was known of the address without its mail server; null, absent: nothing. */
      known?: Evidence | null;
    };

/** What becomes of a landing. One of the two is called, once; `failed` too where `landed` throws. */
export interface OutcomeHandler<T> {
  settled(landing: InFlightOutcome): T;
  /** Nothing came of it: whoever waits is told the error. */
  failed(): void;
}

/** Who waits for a flight. Answered once: by the landing, at the deadline, or since he has gone. */
export class CheckWaiter implements Deadline {
  readonly check: InFlightCheck;
  /** The deadline, or shortly before it, when what is known is looked up. */
  dueMs: number;
  isAnswered = false;
  previous: Deadline["previous"] = null;
  next: Deadline["next"] = null;
  /** Monotonic; null: the flight began for him. */
  joinedMs: number | null = null;
  readonly #deadlineMs: number;
  readonly #handler: OutcomeHandler<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  /** @param aheadMs so long before its deadline it is due for the first time */
  constructor(
    flight: InFlightCheck,
    { deadlineMs, aheadMs }: { deadlineMs: number; aheadMs: number },
    arrival: OutcomeHandler<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.check = flight;
    this.#deadlineMs = deadlineMs;
    this.dueMs = deadlineMs - aheadMs;
    this.#handler = arrival;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(landing: InFlightOutcome): void {
    this.isAnswered = true;
    try {
      this.#resolve(this.#handler.settled(landing));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.isAnswered = true;
    this.#handler.failed();
    this.#reject(error);
  }

  onDue(): void {
    if (this.dueMs < this.#deadlineMs) {
      this.dueMs = this.#deadlineMs;
      this.check.nearlyDue(this);
      return;
    }
    this.check.isPromised = true;
    this.check.removeWaiter(this);
    this.settle({ entry: null, cached: false, failure: "deadline", known: this.check.known ?? null });
  }
}

/** One check for all who ask. It is itself who the cache and the pool answer. */
export class InFlightCheck implements EntryWaiter, CheckListener, TimedCheck {
  readonly question: CheckQuestion;
  /** Nearly always alone. */
  firstWaiter: CheckWaiter | null = null;
  otherWaiters: Set<CheckWaiter> | null = null;
  /** True once it is certain that the answer comes from a check of now, not from the cache. */
  fresh: boolean;
  /** A deadline has passed: somebody was promised that the check goes on. */
  isPromised = false;
  task: { cancel(): void } | null = null;
  /** Of who began it, or joined; null: whoever asks may have a check. */
  slot: AdmissionSlot | null;
  isAbandoned = false;
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
  readonly #owner: InFlightOwner;

  constructor(
    tower: InFlightOwner,
    question: CheckQuestion,
    span: Span | null,
    place: InFlightCheck["slot"],
  ) {
    this.#owner = tower;
    this.question = question;
    this.slot = place;
    this.fresh = question.refresh;
    this.span = span;
  }

  get isTraced(): boolean {
    return this.span !== null;
  }

  onTimes(times: CheckTimes): void {
    this.thread = times;
  }

  get scope(): Scope {
    return this.question.scope;
  }

  get cacheKey(): string {
    return this.question.address.cacheKey;
  }

  addWaiter(passenger: CheckWaiter): void {
    if (this.firstWaiter === null) this.firstWaiter = passenger;
    else {
      this.otherWaiters ??= new Set();
      this.otherWaiters.add(passenger);
    }
  }

  removeWaiter(passenger: CheckWaiter): void {
    if (this.firstWaiter === passenger) this.firstWaiter = null;
    else this.otherWaiters?.delete(passenger);
  }

  get isEmpty(): boolean {
    return this.firstWaiter === null && (this.otherWaiters === null || this.otherWaiters.size === 0);
  }

  nearlyDue(passenger: CheckWaiter): void {
    this.#owner.nearlyDue(this, passenger);
  }

  found(entry: CacheEntry | undefined, redisKey: string): void {
    this.redisKey = redisKey;
    this.#owner.found(this, entry);
  }

  onEvidence(evidence: Evidence | null): void {
    this.#owner.learnt(this, evidence);
  }

  onError(error: unknown): void {
    this.#owner.broke(this, error);
  }
}

/** What flights tell. */
export interface InFlightOwner {
  /** The deadline of a waiter is near. */
  nearlyDue(flight: InFlightCheck, passenger: CheckWaiter): void;
  found(flight: InFlightCheck, entry: CacheEntry | undefined): void;
  learnt(flight: InFlightCheck, evidence: Evidence | null): void;
  broke(flight: InFlightCheck, error: unknown): void;
}

/** All who wait for it. */
export function waitersOf({ firstWaiter: first, otherWaiters: others }: InFlightCheck): CheckWaiter[] {
  if (others === null) return first === null ? [] : [first];
  return first === null ? [...others] : [first, ...others];
}
