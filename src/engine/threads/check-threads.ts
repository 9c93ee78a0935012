import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import type { Logger } from "../../platform/log.ts";
import { workerFile } from "../../platform/worker-file.ts";
import type { AttachMessage } from "./thread-messages.ts";
import type { ThreadSetup } from "./thread-tasks.ts";

/** Threads of the check engine, which load their modules on other cores from the moment they are started. */
export interface CheckThreads {
  readonly count: number;
  readonly piscina: Piscina;
  /** Rejects when a thread has failed: threads that fail as they load never answer. */
  readonly failed: Promise<never>;
  /** Sets the function that gets the port of each thread, also of those that sent it before. */
  onAttach(attach: (port: MessagePort) => void): void;
  /** Resolves when every thread has answered, hence has loaded. */
  hello(): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Threads for the CPU's sake, event loops for the sockets': each thread serves thousands of checks at once. Piscina starts,
 * replaces and ends them; checks reach them over a port of their own (`ThreadMessage`). Piscina's default of stopping an
 * idle thread's event loop by `Atomics.wait` would freeze its sockets and timers, hence `atomics: "disabled"`.
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
  // A rejection without a listener would end the process.
  failed.catch(() => {});
  // A thread posts its port once, perhaps before anything listens.
  const early: MessagePort[] = [];
  let attach = (port: MessagePort): void => void early.push(port);
  piscina.on("message", (message: AttachMessage | undefined) => {
    if (message?.type === "rcpt.attach") attach(message.port);
  });
  return {
    count,
    piscina,
    failed,
    onAttach(next) {
      attach = next;
      for (const port of early.splice(0)) next(port);
    },
    hello: () => Promise.all(Array.from({ length: count }, () => piscina.run(null))),
    close: () => piscina.destroy(),
  };
}
