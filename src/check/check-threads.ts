import { Piscina } from "piscina";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { workerFile } from "../core/worker-file.ts";
import type { ThreadSetup } from "./thread-tasks.ts";

/** Threads of the check engine, which load their modules on other cores from the moment they are begun. */
export interface CheckThreads {
  readonly count: number;
  readonly piscina: Piscina;
  /** Rejects when a thread has failed, for whoever waits for them to be there: those that fail as they load never answer. */
  readonly failed: Promise<never>;
  /** From now on `receive` has all messages of the threads, those that came before first. */
  onMessage(receive: (message: unknown) => void): void;
}

/**
 * Threads for the CPU's sake, event loops for the sockets': each thread serves thousands of checks at once.
 * Piscina's default of stopping an idle thread's event loop by `Atomics.wait` would freeze its sockets and timers,
 * hence `atomics: "disabled"`; a task waits inside its site's pool, not in Piscina's queue, hence the many tasks a
 * thread.
 */
export function startCheckThreads(
  setup: ThreadSetup,
  count: number,
  log: Logger,
  filename: string = workerFile("check"),
): CheckThreads {
  const piscina = new Piscina({
    filename,
    minThreads: count,
    maxThreads: count,
    concurrentTasksPerWorker: LIMITS.check.tasksPerThread,
    maxQueue: LIMITS.check.tasksInFlight,
    atomics: "disabled",
    recordTiming: false,
    workerData: setup,
  });
  const failed = new Promise<never>((_, reject) => {
    piscina.on("error", (error) => {
      log.error({ err: error }, "a check thread failed");
      reject(error);
    });
  });
  // Nobody may be waiting yet, or any more.
  failed.catch(() => {});
  // A thread says once that it is there, which may be before anybody listens.
  const early: unknown[] = [];
  let receive: (message: unknown) => void = (message) => early.push(message);
  piscina.on("message", (message: unknown) => receive(message));
  return {
    count,
    piscina,
    failed,
    onMessage(next) {
      receive = next;
      for (const message of early.splice(0)) next(message);
    },
  };
}
