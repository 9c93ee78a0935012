import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Board } from "./board.ts";
import type { Broker } from "./broker.ts";
import type { Evidence, Scope } from "./evidence.ts";
import type { Attach } from "./link.ts";
import type { BatchMode, CheckLine, CheckTask, CheckTaskResult, SingleLine, ThreadSetup } from "./thread.ts";

/** A check on its way. */
export interface PendingCheck {
  /** The evidence, or null when it was cancelled before it knew. Rejects when the check itself broke. */
  evidence: Promise<Evidence | null>;
  /** Nobody waits any more: what has not begun is left, what runs ends at its next step. */
  cancel(): void;
}

/** A batch of checks on its way. */
export interface PendingBatch {
  /**
   * One line an address, in order. All are null when the batch was cancelled before it knew, or the pool was closed.
   * Rejects when its thread died.
   */
  lines: Promise<CheckLine[]>;
  /** Addresses without an answer at present. */
  readonly left: number;
  /** Answers soon, about LIMITS.check.haltLookMs from now, with what is known: all else is deferred, `unfinished`. */
  handIn(): void;
  /** Nobody wants any of it any more. */
  cancel(): void;
}

export interface CheckPool {
  /** @throws AppError `overloaded` when `LIMITS.check.tasksInFlight` are under way. */
  check(address: string, scope: Scope): PendingCheck;
  /**
   * Many checks in one message to a thread and one back.
   * @param addresses 1 to LIMITS.check.batchAddresses; those of one domain should be in one batch, since a thread's
   *   sessions are its own
   * @throws AppError `overloaded` when there is no room for all of them, `unavailable` once the pool was closed
   */
  checkBatch(addresses: readonly string[], scope: Scope, mode: BatchMode): PendingBatch;
  /** Addresses without an answer. */
  readonly inFlight: number;
  /** Resolves when every thread has loaded the engine and answered. */
  ready(): Promise<void>;
  /** Ends the threads: first their sessions say QUIT, then the threads go. Checks under way are lost. */
  close(): Promise<void>;
}

export interface CheckPoolDeps {
  threads: number;
  setup: ThreadSetup;
  board: Board;
  broker: Broker;
  log: Logger;
}

/**
 * Threads for the CPU's sake, event loops for the sockets': each thread serves thousands of checks at once.
 * Piscina's default of stopping an idle thread's event loop by `Atomics.wait` would freeze its sockets and timers,
 * hence `atomics: "disabled"`; a task waits inside its site's pool, not in Piscina's queue, hence the many tasks a
 * thread.
 */
export function createCheckPool(deps: CheckPoolDeps): CheckPool {
  const piscina = new Piscina({
    filename: workerFile(),
    minThreads: deps.threads,
    maxThreads: deps.threads,
    concurrentTasksPerWorker: LIMITS.check.tasksPerThread,
    maxQueue: LIMITS.check.tasksInFlight,
    atomics: "disabled",
    workerData: deps.setup,
  });
  piscina.on("message", (message: Attach | undefined) => {
    if (message?.type === "rcpt.attach") deps.broker.attach(message.port as MessagePort);
  });
  piscina.on("error", (error) => deps.log.error({ err: error }, "a check thread failed"));

  const freeSlots = Array.from(
    { length: LIMITS.check.tasksInFlight },
    (_, i) => LIMITS.check.tasksInFlight - 1 - i,
  );
  let singles = 0;
  const batches = new Set<PendingBatch>();
  let closing = false;

  function inFlight(): number {
    let count = singles;
    for (const batch of batches) count += batch.left;
    return count;
  }

  /** @throws AppError `overloaded` */
  function takeSlot(addresses: number): number {
    const room = !closing && inFlight() + addresses <= LIMITS.check.tasksInFlight;
    const slot = room ? freeSlots.pop() : undefined;
    if (slot === undefined) throw overloaded();
    deps.board.begin(slot, addresses);
    return slot;
  }

  /**
   * @param ended told before the slot may be another task's
   * @returns the lines; null when the pool was closed meanwhile: threads that are ended take their checks with them
   */
  async function run(task: CheckTask, ended: () => void): Promise<string | null> {
    try {
      return (await piscina.run(task)) as CheckTaskResult;
    } catch (error) {
      if (closing) return null;
      throw error;
    } finally {
      ended();
      freeSlots.push(task.slot);
    }
  }

  async function runSingle(task: CheckTask, ended: () => void): Promise<Evidence | null> {
    const result = await run(task, ended);
    const line = result === null ? null : (JSON.parse(result) as SingleLine);
    if (line === "overloaded") throw overloaded();
    return line;
  }

  async function runBatch(task: CheckTask, ended: () => void): Promise<CheckLine[]> {
    const result = await run(task, ended);
    const lines = result?.split("\n") ?? task.addresses.split("\n").map(() => "null");
    return lines.map((line) => JSON.parse(line) as CheckLine);
  }

  return {
    check(address, scope) {
      const slot = takeSlot(1);
      singles += 1;
      let done = false;
      const task: CheckTask = { addresses: address, scope, mode: "single", slot };
      return {
        evidence: runSingle(task, () => {
          done = true;
          singles -= 1;
        }),
        cancel() {
          if (!done) deps.board.cancel(slot);
        },
      };
    },
    checkBatch(addresses, scope, mode) {
      const count = addresses.length;
      if (count === 0 || count > LIMITS.check.batchAddresses) throw new RangeError(`a batch of ${count}`);
      if (closing) throw new AppError("unavailable", "The check pool was closed.");
      const slot = takeSlot(count);
      const task: CheckTask = { addresses: addresses.join("\n"), scope, mode, slot };
      let done = false;
      const batch: PendingBatch = {
        lines: runBatch(task, () => {
          done = true;
          batches.delete(batch);
        }),
        get left() {
          return done ? 0 : deps.board.left(slot);
        },
        handIn() {
          if (!done) deps.board.handIn(slot);
        },
        cancel() {
          if (!done) deps.board.cancel(slot);
        },
      };
      batches.add(batch);
      return batch;
    },
    get inFlight() {
      return inFlight();
    },
    async ready() {
      const nothing: CheckTask = { addresses: "", scope: "unprobed", mode: "single", slot: 0 };
      await Promise.all(Array.from({ length: deps.threads }, () => piscina.run(nothing)));
    },
    async close() {
      closing = true;
      await deps.broker.drain();
      await piscina.destroy();
    },
  };
}

function overloaded(): AppError {
  return new AppError("overloaded", "Too many checks are under way.", { retryAfterS: 1 });
}

/** The thread's entry beside this tree, with the importer's own extension: `.ts` under tsx, `.js` compiled. */
function workerFile(): string {
  return fileURLToPath(new URL(`../../workers/check${extname(import.meta.url)}`, import.meta.url));
}
