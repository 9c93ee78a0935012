import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Evidence, Scope } from "../../verification/evidence.ts";
import type { CheckTimes } from "../check-times.ts";
import type { Broker } from "./broker.ts";
import { type BatchListener, type CheckBatches, type RunningBatch, tooManyChecks } from "./check-batches.ts";
import type { CheckThreads } from "./check-threads.ts";
import type { BatchMode, CheckOutcome } from "./thread-tasks.ts";

/** Gets a single check's result: one of `onEvidence` and `onError`, once, and never within the call that asked. */
export interface CheckListener {
  /** Its thread must report its times; absent: it need not. */
  readonly isTraced?: boolean;
  /** Called before the answer of a traced check. */
  onTimes?(times: CheckTimes): void;
  /** The evidence, or null when it was cancelled before it knew. */
  onEvidence(evidence: Evidence | null): void;
  /** The check itself broke, or there was no room for it. */
  onError(error: unknown): void;
}

/** A single check in progress. */
export interface PendingCheck {
  /** The evidence, or null when it was cancelled before it knew. Rejects when the check itself broke. */
  evidence: Promise<Evidence | null>;
  /** No caller waits any more: checks that have not started are dropped, running ones end at their next step. */
  cancel(): void;
}

/** A batch of checks in progress. */
export interface PendingBatch extends Pick<RunningBatch, "remaining" | "finishEarly" | "cancel"> {
  /**
   * One for each address, in order. All are null when the batch was cancelled before it knew, or the pool was closed.
   * Rejects when its thread died.
   */
  outcomes: Promise<CheckOutcome[]>;
}

export interface CheckPool {
  /** @throws AppError `overloaded` when `LIMITS.check.tasksInFlight` are in progress. */
  check(address: string, scope: Scope): PendingCheck;
  /** The same for a caller with an object of its own to be called back, which needs no promise. */
  submit(address: string, scope: Scope, listener: CheckListener): Pick<PendingCheck, "cancel">;
  /**
   * Many checks in one message to a thread and one back.
   * @param addresses 1 to LIMITS.check.batchAddresses; those of one domain should be in one batch, since a thread's
   *   sessions are its own
   * @param atOnce the most that are checked at once, at least 1; absent: all
   * @throws AppError `overloaded` when there is no room for these, `unavailable` once the pool was closed
   */
  checkBatch(addresses: readonly string[], scope: Scope, mode: BatchMode, atOnce?: number): PendingBatch;
  /** Addresses that are being checked and have no answer. */
  readonly inFlight: number;
  /** See `CheckWaits.takeMeanMs`: for a caller that asks from time to time. */
  takeWaitMs(): number;
  /** Resolves when every thread has loaded the engine and answered. Rejects when one failed before they were first ready. */
  ready(): Promise<void>;
  /** Ends the threads: first their sessions send QUIT, then the threads end. Checks in progress are lost. */
  close(): Promise<void>;
}

export interface CheckPoolDeps {
  /** Started for this pool, see `startCheckThreads`. */
  threads: CheckThreads;
  batches: CheckBatches;
  broker: Pick<Broker, "attach" | "drain">;
}

export function createCheckPool(deps: CheckPoolDeps): CheckPool {
  return new ThreadedCheckPool(deps);
}

class ThreadedCheckPool implements CheckPool {
  readonly #deps: CheckPoolDeps;
  #isClosing = false;
  #wasReady = false;

  constructor(deps: CheckPoolDeps) {
    this.#deps = deps;
    deps.threads.onAttach((port) => deps.broker.attach(port));
  }

  submit(address: string, scope: Scope, listener: CheckListener): RunningBatch {
    if (this.#isClosing) throw tooManyChecks();
    return this.#deps.batches.start(
      [address],
      { mode: "single", scope, atOnce: 1 },
      new SingleCheck(listener),
    );
  }

  check(address: string, scope: Scope): PendingCheck {
    const listener: CheckListener = { onEvidence() {}, onError() {} };
    const evidence = new Promise<Evidence | null>((resolve, reject) => {
      listener.onEvidence = resolve;
      listener.onError = reject;
    });
    const batch = this.submit(address, scope, listener);
    return { evidence, cancel: () => batch.cancel() };
  }

  checkBatch(
    addresses: readonly string[],
    scope: Scope,
    mode: BatchMode,
    atOnce = addresses.length,
  ): PendingBatch {
    const count = addresses.length;
    if (count === 0 || count > LIMITS.check.batchAddresses) throw new RangeError(`a batch of ${count}`);
    if (this.#isClosing) throw new AppError("unavailable", "The check pool was closed.");
    const listener: BatchListener = { onOutcomes() {}, onError() {} };
    const outcomes = new Promise<CheckOutcome[]>((resolve, reject) => {
      listener.onOutcomes = resolve;
      listener.onError = reject;
    });
    const batch = this.#deps.batches.start(addresses, { mode, scope, atOnce }, listener);
    return Object.assign(batch, { outcomes });
  }

  get inFlight(): number {
    return this.#deps.batches.inFlight;
  }

  takeWaitMs(): number {
    return this.#deps.batches.takeWaitMs();
  }

  async ready(): Promise<void> {
    const { threads } = this.#deps;
    // Piscina replaces threads that fail later; those that fail as they load leave the hellos without an answer.
    await (this.#wasReady ? threads.hello() : Promise.race([threads.hello(), threads.failed]));
    this.#wasReady = true;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#deps.broker.drain();
    this.#deps.batches.close();
    await this.#deps.threads.close();
  }
}

/** A single check is a batch of one. */
class SingleCheck implements BatchListener {
  readonly #listener: CheckListener;

  constructor(listener: CheckListener) {
    this.#listener = listener;
  }

  get isTraced(): boolean {
    return this.#listener.isTraced === true;
  }

  onTimes(times: CheckTimes): void {
    this.#listener.onTimes?.(times);
  }

  onOutcomes([outcome = null]: CheckOutcome[]): void {
    if (outcome === "overloaded") this.onError(tooManyChecks());
    else if (outcome === "broken") this.onError(new Error("a check broke, see its thread's log"));
    else if (outcome !== null && "deferred" in outcome)
      this.onError(new Error("a check of a request was deferred"));
    else this.#listener.onEvidence(outcome);
  }

  onError(error: unknown): void {
    this.#listener.onError(error);
  }
}
