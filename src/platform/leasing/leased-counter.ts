import type { AppError } from "../errors.ts";
import type { Clock, Timer } from "../time/clock.ts";

/** A request that waits for a unit. Settled once. */
export interface UnitWaiter<Unit> {
  resolve(unit: Unit): void;
  reject(error: unknown): void;
}

/** How a lease follows the speed at which a counter is spent. */
export interface LeaseSizes {
  /** Units of the first lease. */
  first: number;
  /** The next lease is twice as large when it is asked for sooner than this after the last. */
  goneMs: number;
  /** It is half as large when it is asked for later than this. */
  lastedMs: number;
}

/** The store behind the counters of one kind, as far as a counter needs it. */
export interface LeaseStore<Counter, Unit> {
  readonly clock: Pick<Clock, "monotonic">;
  readonly sizes: LeaseSizes;
  /** Nothing is asked ahead of need any more. */
  readonly isDraining: boolean;
  /** Requests that may wait at one counter. */
  readonly waitersMax: number;
  /** The refusal of one more. Shared: in an overload they come by the thousand, and each new error costs a stack. */
  readonly tooManyWait: AppError;
  /**
   * Asks the store for units, and notes its answer in the counter: as units that `takeLeased` finds, or as a `refusal`. Rejects
   * when the store failed. Called again until no request waits, so an answer with neither has to take time.
   */
  lease(counter: Counter): Promise<void>;
  /** `lease` rejected. Settles every one of `waiters`, none perhaps, before it does anything that may fail. */
  failed(counter: Counter, error: unknown, waiters: readonly UnitWaiter<Unit>[]): void;
  /** Starts a timer that bounds the wait of one request. Absent: the time-out of `lease` is bound enough. */
  startWaitTimer?(giveUp: (error: AppError) => void): Timer;
}

/**
 * A counter that all processes share in a store, and that this process spends from memory. Its life:
 *
 * 1. `take` gives out a unit of what is leased, without I/O.
 * 2. Where that leaves little (`wantsMore`), the store is asked for the next lease ahead of need, in the background.
 * 3. Where nothing is leased, the request is refused if the store said so lately (`refusal`), else it waits. The store is asked
 *    one question at a time for a counter: all that wait share it, and get their units in the order of their arrival.
 * 4. What is not used goes back, at intervals and at the end. How is the store's matter: tokens are a number, units of a day
 *    are accounted for one by one.
 *
 * Subclasses keep the account and do no I/O; the store behind it is a parameter. `Unit` is what a caller holds of a unit.
 */
export abstract class LeasedCounter<Unit> {
  readonly #store: LeaseStore<this, Unit>;
  readonly #waiters: UnitWaiter<Unit>[] = [];
  #isAsking = false;
  /** NaN: not asked yet, which is neither long ago nor just now. */
  #askedAtMs = Number.NaN;
  /** Units of the lease that was asked for last, at least 1. */
  protected size: number;
  /** Its `CounterSet` has dropped it: the next request gets another. */
  isForgotten = false;

  constructor(store: LeaseStore<never, Unit>) {
    this.#store = store as LeaseStore<this, Unit>;
    this.size = store.sizes.first;
  }

  /** A leased unit; null: there is none. */
  abstract takeLeased(nowMs: number): Unit | null;
  /** So little is leased that more is asked for before a request has to wait. */
  abstract wantsMore(nowMs: number): boolean;
  /** Why a request for which nothing is leased gets no unit now, without a question to the store; null: it may be asked. */
  abstract refusal(nowMs: number): AppError | null;
  /** Nothing is leased, awaited, still to be reported, or known to this process alone. */
  abstract get isIdle(): boolean;

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** A request waits, or an answer of the store is awaited. */
  protected get isAwaited(): boolean {
    return this.#isAsking || this.#waiters.length > 0;
  }

  /**
   * A unit: at once when one is leased, else a promise.
   * @throws the `refusal`, or the store's `tooManyWait`
   */
  take(nowMs: number): Unit | Promise<Unit> {
    const unit = this.takeLeased(nowMs);
    if (unit !== null) {
      if (!this.#isAsking && !this.#store.isDraining && this.wantsMore(nowMs)) this.ask();
      return unit;
    }
    const refusal = this.refusal(nowMs);
    if (refusal !== null) throw refusal;
    return this.#wait();
  }

  /** Asks the store for units, unless it is being asked. */
  ask(): void {
    if (!this.#isAsking) void this.#serve();
  }

  /**
   * The size of the lease to ask for now, `most` at most.
   * @param isRenewal the last one is old, not spent: its size was enough
   */
  protected nextSize(nowMs: number, most: number, isRenewal = false): number {
    const { goneMs, lastedMs } = this.#store.sizes;
    const sinceMs = nowMs - this.#askedAtMs;
    this.#askedAtMs = nowMs;
    if (!isRenewal && sinceMs < goneMs) this.size *= 2;
    else if (!isRenewal && sinceMs > lastedMs) this.halveSize();
    this.size = Math.min(this.size, most);
    return this.size;
  }

  protected halveSize(): void {
    this.size = Math.max(1, this.size >> 1);
  }

  /** Settles the first waiters with units that were granted for them: such units were never leased. */
  protected resolveWaiters(count: number, unit: Unit): void {
    for (const waiter of this.#waiters.splice(0, count)) waiter.resolve(unit);
  }

  rejectWaiters(error: () => unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error());
  }

  #wait(): Promise<Unit> {
    if (this.#waiters.length >= this.#store.waitersMax) throw this.#store.tooManyWait;
    return new Promise((resolve, reject) => {
      const timer = this.#store.startWaitTimer?.((error) => {
        const place = this.#waiters.indexOf(waiter);
        if (place >= 0) this.#waiters.splice(place, 1);
        reject(error);
      });
      const waiter: UnitWaiter<Unit> = {
        resolve(unit) {
          timer?.cancel();
          resolve(unit);
        },
        reject(error) {
          timer?.cancel();
          reject(error);
        },
      };
      this.#waiters.push(waiter);
      this.ask();
    });
  }

  /** Asks for waiting and coming requests, until none waits. */
  async #serve(): Promise<void> {
    this.#isAsking = true;
    try {
      do {
        await this.#store.lease(this);
        this.#settleWaiters();
      } while (this.#waiters.length > 0);
    } catch (error) {
      this.#store.failed(this, error, this.#waiters.splice(0));
    } finally {
      this.#isAsking = false;
    }
  }

  /** Those at the front get what is leased; the others stay, or are refused. */
  #settleWaiters(): void {
    const nowMs = this.#store.clock.monotonic();
    while (this.#waiters.length > 0) {
      const unit = this.takeLeased(nowMs);
      if (unit === null) break;
      this.#waiters.shift()?.resolve(unit);
    }
    if (this.#waiters.length === 0) return;
    const refusal = this.refusal(nowMs);
    if (refusal !== null) this.rejectWaiters(() => refusal);
  }
}
