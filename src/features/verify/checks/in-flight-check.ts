import type { CheckTimes } from "../../../engine/check-times.ts";
import type { CheckListener } from "../../../engine/threads/pool.ts";
import type { Span } from "../../../platform/telemetry/tracing.ts";
import type { Deadline } from "../../../platform/time/deadlines.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import type { AnswerNote, CachedAnswer, WaitTimes } from "../answer/answer-note.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { EntryWaiter } from "../cache/evidence-lookup.ts";
import type { AdmissionSlot } from "./admission.ts";
import type { TimedCheck } from "./wait-times.ts";

export interface CheckQuestion {
  /** The team that pays: no team may have all checks to itself. */
  teamId: string;
  address: ParsedAddress;
  scope: Scope;
  /** Checks again, even if Redis has evidence. */
  refresh: boolean;
}

export interface VerificationWaiter {
  /** `Clock.monotonic` milliseconds when the request came: its deadline counts from then. */
  startedMs: number;
  cancelled(): boolean;
  onCancel(callback: () => void): void;
  /** The span of the request; null or absent: it is not traced. */
  readonly span?: Span | null;
  /** Admits the check before it begins, after the cache was asked; null or absent: no admission is needed. */
  slot?: AdmissionSlot | null;
  /** The parsed input, if it was parsed before; else null or absent. */
  addressQuestion?: AddressQuestion | null;
  /** The rendered answer from the cache, if it was found before; else null or absent. */
  cachedAnswer?: CachedAnswer | null;
  /** Receives the outcome of the request. */
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
      /** At the deadline: evidence without the mail server's; null or absent: none. */
      known?: Evidence | null;
    };

/** Receives the outcome of a check. One of the two is called, once; `failed` too if `settled` throws. */
export interface OutcomeHandler<T> {
  settled(outcome: InFlightOutcome): T;
  /** The check failed: the waiter receives the error. */
  failed(): void;
}

/**
 * One request that waits for a check. It is answered once: with the outcome, at the deadline, or because its client has
 * disconnected.
 */
export class CheckWaiter implements Deadline {
  readonly check: InFlightCheck;
  /** First shortly before the deadline, to look up the present evidence; then the deadline itself. */
  dueMs: number;
  isAnswered = false;
  previous: Deadline["previous"] = null;
  next: Deadline["next"] = null;
  /** Monotonic; null: this request started the check. */
  joinedMs: number | null = null;
  readonly #deadlineMs: number;
  readonly #handler: OutcomeHandler<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;

  /** @param aheadMs how long before its deadline it is due for the first time */
  constructor(
    check: InFlightCheck,
    { deadlineMs, aheadMs }: { deadlineMs: number; aheadMs: number },
    handler: OutcomeHandler<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.check = check;
    this.#deadlineMs = deadlineMs;
    this.dueMs = deadlineMs - aheadMs;
    this.#handler = handler;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(outcome: InFlightOutcome): void {
    this.isAnswered = true;
    try {
      this.#resolve(this.#handler.settled(outcome));
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

/** One check for all requests that ask. The cache and the check pool report to it directly. */
export class InFlightCheck implements EntryWaiter, CheckListener, TimedCheck {
  readonly question: CheckQuestion;
  /** Nearly always the only one. */
  firstWaiter: CheckWaiter | null = null;
  otherWaiters: Set<CheckWaiter> | null = null;
  /** True once it is certain that the answer comes from a check of now, not from the cache. */
  fresh: boolean;
  /** A deadline has passed, so a caller was told that the check goes on. */
  isPromised = false;
  task: { cancel(): void } | null = null;
  /** Slot of the request that started it; null: no admission is needed. */
  slot: AdmissionSlot | null;
  isAbandoned = false;
  /** Evidence without the mail server's; null: not known yet; undefined: it was not looked up. */
  known: Evidence | null | undefined = undefined;
  /** The key as the cache reported it; undefined: the cache was not asked. */
  redisKey: string | undefined = undefined;
  /** Span of the request that started it, if that is traced. */
  readonly span: Span | null;
  thread: CheckTimes | null = null;
  /** Monotonic, when the cache was asked, and the check pool; 0: it was not. */
  lookMs = 0;
  askMs = 0;
  readonly #owner: InFlightOwner;

  constructor(owner: InFlightOwner, question: CheckQuestion, span: Span | null, slot: InFlightCheck["slot"]) {
    this.#owner = owner;
    this.question = question;
    this.slot = slot;
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

  addWaiter(waiter: CheckWaiter): void {
    if (this.firstWaiter === null) this.firstWaiter = waiter;
    else {
      this.otherWaiters ??= new Set();
      this.otherWaiters.add(waiter);
    }
  }

  removeWaiter(waiter: CheckWaiter): void {
    if (this.firstWaiter === waiter) this.firstWaiter = null;
    else this.otherWaiters?.delete(waiter);
  }

  get isEmpty(): boolean {
    return this.firstWaiter === null && (this.otherWaiters === null || this.otherWaiters.size === 0);
  }

  nearlyDue(waiter: CheckWaiter): void {
    this.#owner.nearlyDue(this, waiter);
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

/** Reports of a check to its owner. */
export interface InFlightOwner {
  /** The deadline of a waiter is near. */
  nearlyDue(check: InFlightCheck, waiter: CheckWaiter): void;
  found(check: InFlightCheck, entry: CacheEntry | undefined): void;
  learnt(check: InFlightCheck, evidence: Evidence | null): void;
  broke(check: InFlightCheck, error: unknown): void;
}

/** All waiters of a check. */
export function waitersOf({ firstWaiter: first, otherWaiters: others }: InFlightCheck): CheckWaiter[] {
  if (others === null) return first === null ? [] : [first];
  return first === null ? [...others] : [first, ...others];
}
