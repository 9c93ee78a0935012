import type { MessagePort } from "node:worker_threads";
import { processMonotonicMs } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { runAtEndOfTick } from "../core/ticks.ts";
import type { Broker } from "./broker.ts";
import type { CheckThreads } from "./check-threads.ts";
import { createCheckWaits } from "./check-waits.ts";
import { type PackedOutcomes, readOutcomes } from "./evidence/outcomes.ts";
import type { Scope } from "./evidence.ts";
import type { SharedBoard } from "./shared-board.ts";
import { type CheckListener, createSingleChecks, type PendingCheck, tooManyChecks } from "./single-checks.ts";
import type { AttachMessage } from "./thread-link.ts";
import type {
  BatchMode,
  BatchTask,
  CheckAnswers,
  CheckAnswersMessage,
  CheckOutcome,
  CheckTask,
  HelloTask,
  QueueSiteTask,
} from "./thread-tasks.ts";

export type { CheckListener, PendingCheck } from "./single-checks.ts";

/** A batch of checks on its way. */
export interface PendingBatch {
  /**
   * One line an address, in order. All are null when the batch was cancelled before it knew, or the pool was closed.
   * Rejects when its thread died.
   */
  outcomes: Promise<CheckOutcome[]>;
  /** Addresses without an answer at present. */
  readonly remaining: number;
  /** Answers soon, about LIMITS.check.haltLookMs from now, with what is known: all else is deferred, `unfinished`. */
  finishEarly(): void;
  /** Nobody wants any of it any more. */
  cancel(): void;
}

export interface CheckPool {
  /** @throws AppError `overloaded` when `LIMITS.check.tasksInFlight` are under way. */
  check(address: string, scope: Scope): PendingCheck;
  /** The same for who has an object of its own to be told, and needs no promise. */
  submit(address: string, scope: Scope, asker: CheckListener): Pick<PendingCheck, "cancel">;
  /**
   * Many checks in one message to a thread and one back.
   * @param addresses 1 to LIMITS.check.batchAddresses; those of one domain should be in one batch, since a thread's
   *   sessions are its own
   * @param atOnce so many of them are asked about at once, at least 1; absent: all
   * @throws AppError `overloaded` when there is no room for those, `unavailable` once the pool was closed
   */
  checkBatch(addresses: readonly string[], scope: Scope, mode: BatchMode, atOnce?: number): PendingBatch;
  /**
   * The site in whose line rows of the domain wait, where a thread sees nothing unusual: further ones than it has room for leave it.
   * null: none, or nobody can say. Never rejects. Lasts as long as looking for the domain's servers.
   */
  queueSiteOf(domain: string): Promise<string | null>;
  /** Addresses that are asked about and have no answer. */
  readonly inFlight: number;
  /** See `CheckWaits.take`: for one who asks from time to time. */
  takeWaitMs(): number;
  /** Resolves when every thread has loaded the engine and answered. Rejects when one failed before they were first ready. */
  ready(): Promise<void>;
  /** Ends the threads: first their sessions say QUIT, then the threads go. Checks under way are lost. */
  close(): Promise<void>;
}

interface RunningBatch extends PendingBatch {
  /** So many of its addresses are asked about at once. */
  readonly atOnce: number;
}

export interface CheckPoolDeps {
  threads: CheckThreads;
  board: SharedBoard;
  broker: Broker;
}

/** The pool over threads that were begun for it, see `startCheckThreads`. */
export function createCheckPool(deps: CheckPoolDeps): CheckPool {
  const { piscina } = deps.threads;

  const freeSlots = Array.from(
    { length: LIMITS.check.tasksInFlight },
    (_, i) => LIMITS.check.tasksInFlight - 1 - i,
  );
  const waits = createCheckWaits(deps.board, processMonotonicMs);
  const singles = createSingleChecks({
    run: (task) => run<CheckAnswers | null>(task),
    cancel: (slot) => deps.board.cancel(slot),
    onSlotFree: (slot) => freeSlots.push(slot),
    afterTick: runAtEndOfTick,
    now: processMonotonicMs,
    waits,
  });
  deps.threads.onMessage((received) => {
    const message = received as AttachMessage | CheckAnswersMessage | undefined;
    if (message?.type === "rcpt.attach") deps.broker.attach(message.port as MessagePort);
    else if (message?.type === "rcpt.answers") singles.receive(message.answers);
  });
  const batches = new Set<RunningBatch>();
  let closing = false;
  let loaded = false;

  function inFlight(): number {
    let count = singles.size;
    for (const batch of batches) count += Math.min(batch.remaining, batch.atOnce);
    return count;
  }

  /** @throws AppError `overloaded` */
  function takeSlot(addresses: number, atOnce = addresses): number {
    const room = !closing && inFlight() + Math.min(addresses, atOnce) <= LIMITS.check.tasksInFlight;
    const slot = room ? freeSlots.pop() : undefined;
    if (slot === undefined) throw tooManyChecks();
    deps.board.startTask(slot, addresses);
    return slot;
  }

  /** Null when the pool was closed meanwhile: threads that are ended take their checks with them. */
  async function run<Result>(task: CheckTask): Promise<Result | null> {
    try {
      return (await piscina.run(task)) as Result;
    } catch (error) {
      if (closing) return null;
      throw error;
    }
  }

  /** @param ended told before the slot may be another task's */
  async function runBatch(task: BatchTask, count: number, ended: () => void): Promise<CheckOutcome[]> {
    try {
      const packed = await run<PackedOutcomes>(task);
      return packed === null ? new Array<CheckOutcome>(count).fill(null) : readOutcomes(packed);
    } finally {
      ended();
      freeSlots.push(task.slot);
    }
  }

  return {
    check: (address, scope) => singles.check(address, scope, takeSlot(1)),
    submit: (address, scope, asker) => singles.submit(address, scope, takeSlot(1), asker),
    checkBatch(addresses, scope, mode, atOnce = addresses.length) {
      const count = addresses.length;
      if (count === 0 || count > LIMITS.check.batchAddresses) throw new RangeError(`a batch of ${count}`);
      if (closing) throw new AppError("unavailable", "The check pool was closed.");
      const slot = takeSlot(count, atOnce);
      const task: BatchTask = { addresses: addresses.join("\n"), scope, mode, atOnce, slot };
      let done = false;
      const batch: RunningBatch = {
        atOnce,
        outcomes: runBatch(task, count, () => {
          done = true;
          batches.delete(batch);
        }),
        get remaining() {
          return done ? 0 : deps.board.remaining(slot);
        },
        finishEarly() {
          if (!done) deps.board.finishEarly(slot);
        },
        cancel() {
          if (!done) deps.board.cancel(slot);
        },
      };
      batches.add(batch);
      return batch;
    },
    async queueSiteOf(domain) {
      const task: QueueSiteTask = { mode: "line", domain };
      // Of a thread that dies its rows are told.
      return closing ? null : run<string>(task).catch(() => null);
    },
    get inFlight() {
      return inFlight();
    },
    takeWaitMs: () => waits.takeMeanMs(),
    async ready() {
      const hello: HelloTask = { mode: "hello" };
      const hellos = Promise.all(Array.from({ length: deps.threads.count }, () => piscina.run(hello)));
      // Of threads that fail later Piscina begins others; those that fail as they load leave the hellos without an answer.
      await (loaded ? hellos : Promise.race([hellos, deps.threads.failed]));
      loaded = true;
    },
    async close() {
      closing = true;
      await deps.broker.drain();
      await piscina.destroy();
      singles.close();
    },
  };
}
