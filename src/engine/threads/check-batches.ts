import { LIMITS } from "../../config/limits/limits.ts";
import type { SharedBoard } from "../../egress/shared-board.ts";
import { AppError } from "../../platform/errors.ts";
import { readOutcomes } from "../../verification/evidence/outcomes.ts";
import type { CheckTimes } from "../check-times.ts";
import { type CheckWaits, createCheckWaits } from "./check-waits.ts";
import type { MainMessage } from "./thread-messages.ts";
import { type CheckAnswers, type CheckBatch, type CheckOutcome, unansweredOutcome } from "./thread-tasks.ts";

/** Gets a batch's result: one of `onOutcomes` and `onError`, once, and never within the call that started it. */
export interface BatchListener {
  /** The thread must report the times of each check; absent: it need not. */
  readonly isTraced?: boolean;
  /** Called before the outcomes, once for each address of a traced batch. */
  onTimes?(times: CheckTimes): void;
  /** Receives the outcomes, in the order of the addresses. All are null when the pool was closed. */
  onOutcomes(outcomes: CheckOutcome[]): void;
  /** Called when the batch's thread died. */
  onError(error: unknown): void;
}

/** The main thread's end of one check thread. */
export interface CheckThread {
  onAnswers(answers: CheckAnswers): void;
  /** The thread is gone. */
  close(): void;
}

/** Connection of the main thread to a check thread. */
export interface ThreadPort {
  send(message: MainMessage): void;
  /** Keeps the process alive while a batch is in progress. */
  setBusy(isBusy: boolean): void;
}

/** Batches of checks sent to the check threads and back. A batch goes to the thread that has the fewest. */
export class CheckBatches {
  readonly #board: SharedBoard;
  readonly #now: () => number;
  readonly #waits: CheckWaits;
  readonly #threads: Thread[] = [];
  /** Running batches by slot. */
  readonly #running: (RunningBatch | undefined)[] = new Array(LIMITS.check.tasksInFlight);
  readonly #freeSlots = Array.from({ length: LIMITS.check.tasksInFlight }, (_, i) => i).reverse();
  /** Batches of more than one address. */
  readonly #large = new Set<RunningBatch>();
  #singles = 0;
  /** Waiting for the first thread, in order. */
  #unsent: CheckBatch[] = [];

  /** @param now `processMonotonicMs` */
  constructor(board: SharedBoard, now: () => number) {
    this.#board = board;
    this.#now = now;
    this.#waits = createCheckWaits(board, now);
  }

  /** Addresses that are being checked. */
  get inFlight(): number {
    let count = this.#singles;
    for (const { remaining, atOnce } of this.#large) count += Math.min(remaining, atOnce);
    return count;
  }

  /** See `CheckWaits.takeMeanMs`. */
  takeWaitMs(): number {
    return this.#waits.takeMeanMs();
  }

  /** @throws AppError `overloaded` when there is no room for it */
  start(
    addresses: readonly string[],
    { mode, scope, atOnce }: Pick<CheckBatch, "mode" | "scope" | "atOnce">,
    listener: BatchListener,
  ): RunningBatch {
    const hasRoom = this.inFlight + Math.min(addresses.length, atOnce) <= LIMITS.check.tasksInFlight;
    const slot = hasRoom ? this.#freeSlots.pop() : undefined;
    if (slot === undefined) throw tooManyChecks();
    this.#board.startTask(slot, addresses.length);
    this.#waits.onSent();
    const isTraced = listener.isTraced === true;
    const message = {
      slot,
      mode,
      scope,
      addresses: addresses.join("\n"),
      atOnce,
      isTraced,
      askedMs: this.#now(),
    };
    const batch = new RunningBatch(this.#board, slot, addresses.length, atOnce, listener, this.#onHalted);
    this.#running[slot] = batch;
    if (batch.count === 1) this.#singles += 1;
    else this.#large.add(batch);
    const thread = this.#leastBusy();
    if (thread === null) this.#unsent.push(message);
    else this.#send(thread, batch, message);
    return batch;
  }

  attach(port: ThreadPort): CheckThread {
    const thread = new Thread(port);
    this.#threads.push(thread);
    const unsent = this.#unsent;
    this.#unsent = [];
    for (const message of unsent) {
      const batch = this.#running[message.slot];
      if (batch !== undefined) this.#send(thread, batch, message);
    }
    return {
      onAnswers: (answers) => this.#onAnswers(answers),
      close: () => this.#forget(thread),
    };
  }

  /** Ends the running batches: all their outcomes are null. */
  close(): void {
    for (const batch of this.#running)
      if (batch !== undefined) this.#take(batch).onOutcomes(new Array<CheckOutcome>(batch.count).fill(null));
  }

  #leastBusy(): Thread | null {
    let found: Thread | null = null;
    for (const thread of this.#threads) if (found === null || thread.batches < found.batches) found = thread;
    return found;
  }

  #send(thread: Thread, batch: RunningBatch, message: CheckBatch): void {
    batch.thread = thread;
    thread.addBatches(1);
    thread.port.send({ type: "check", batch: message });
  }

  #onAnswers({ slots, outcomes, times, postedMs }: CheckAnswers): void {
    this.#waits.onReceived(slots.length, this.#now() - postedMs);
    for (const one of times ?? []) this.#running[one.slot]?.listener.onTimes?.(one);
    const all = readOutcomes(outcomes);
    let at = 0;
    for (const slot of slots) {
      const batch = this.#running[slot];
      // After `close` nothing is expected any more.
      if (batch === undefined) return;
      const { count } = batch;
      this.#take(batch).onOutcomes(count === all.length ? all : all.slice(at, at + count));
      at += count;
    }
  }

  /** Ends a batch that has its answer: its slot may then belong to another batch. */
  #take(batch: RunningBatch): BatchListener {
    this.#running[batch.slot] = undefined;
    this.#freeSlots.push(batch.slot);
    if (batch.count === 1) this.#singles -= 1;
    else this.#large.delete(batch);
    batch.thread?.addBatches(-1);
    batch.isDone = true;
    return batch.listener;
  }

  #forget(thread: Thread): void {
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    for (const batch of this.#running) {
      if (batch?.thread !== thread) continue;
      if (!this.#board.isStarted(batch.slot)) this.#waits.onNeverStarted(1);
      this.#take(batch).onError(new Error("the check thread ended"));
    }
  }

  /** Answers a batch that waits for a thread itself: no thread may ever take it. */
  readonly #onHalted = (batch: RunningBatch): void => {
    if (batch.thread !== null) return;
    this.#unsent = this.#unsent.filter(({ slot }) => slot !== batch.slot);
    this.#waits.onNeverStarted(1);
    const outcome = unansweredOutcome("", this.#board.isCancelled(batch.slot));
    this.#take(batch).onOutcomes(new Array<CheckOutcome>(batch.count).fill(outcome));
  };
}

class Thread {
  readonly port: ThreadPort;
  /** Batches that it has. */
  batches = 0;

  constructor(port: ThreadPort) {
    this.port = port;
  }

  addBatches(count: 1 | -1): void {
    this.batches += count;
    if (this.batches === 0 || (this.batches === 1 && count === 1)) this.port.setBusy(count === 1);
  }
}

/** A batch without an answer. */
export class RunningBatch {
  readonly slot: number;
  readonly count: number;
  readonly atOnce: number;
  readonly listener: BatchListener;
  thread: Thread | null = null;
  isDone = false;
  readonly #board: SharedBoard;
  readonly #onHalted: (batch: RunningBatch) => void;

  constructor(
    board: SharedBoard,
    slot: number,
    count: number,
    atOnce: number,
    listener: BatchListener,
    onHalted: (batch: RunningBatch) => void,
  ) {
    this.#board = board;
    this.#onHalted = onHalted;
    this.slot = slot;
    this.count = count;
    this.atOnce = atOnce;
    this.listener = listener;
  }

  /** Addresses without an answer at present. */
  get remaining(): number {
    return this.isDone ? 0 : this.#board.remaining(this.slot);
  }

  /** Requests the answer soon, about LIMITS.check.haltPollMs from now: unknown outcomes are deferred, `unfinished`. */
  finishEarly(): void {
    if (this.isDone) return;
    this.#board.finishEarly(this.slot);
    this.#onHalted(this);
  }

  /** No one waits for it any more. */
  cancel(): void {
    if (this.isDone) return;
    this.#board.cancel(this.slot);
    this.#onHalted(this);
  }
}

export function tooManyChecks(): AppError {
  return new AppError("overloaded", "Too many checks are under way.", { retryAfterS: 1 });
}
