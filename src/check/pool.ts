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
import type { CheckLine, CheckTask, CheckTaskResult, ThreadSetup } from "./thread.ts";

/** A check on its way. */
export interface PendingCheck {
  /** The evidence, or null when it was cancelled before it knew. Rejects when the check itself broke. */
  evidence: Promise<Evidence | null>;
  /** Nobody waits any more: what has not begun is left, what runs ends at its next step. */
  cancel(): void;
}

export interface CheckPool {
  /** @throws AppError `overloaded` when `LIMITS.check.tasksInFlight` are under way. */
  check(address: string, scope: Scope): PendingCheck;
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
  let inFlight = 0;
  let closing = false;

  return {
    check(address, scope) {
      const slot = closing ? undefined : freeSlots.pop();
      if (slot === undefined) throw overloaded();
      inFlight += 1;
      deps.board.setCancelled(slot, false);
      let done = false;
      async function run(task: CheckTask): Promise<Evidence | null> {
        try {
          const result: CheckTaskResult = await piscina.run(task);
          const line = JSON.parse(result) as CheckLine;
          if (line === "overloaded") throw overloaded();
          return line;
        } catch (error) {
          // Threads that are ended on purpose take their checks with them.
          if (closing) return null;
          throw error;
        } finally {
          done = true;
          inFlight -= 1;
          freeSlots.push(task.slot);
        }
      }
      return {
        evidence: run({ addresses: address, scope, slot }),
        cancel() {
          if (!done) deps.board.setCancelled(slot, true);
        },
      };
    },
    get inFlight() {
      return inFlight;
    },
    async ready() {
      const nothing: CheckTask = { addresses: "", scope: "unprobed", slot: 0 };
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
