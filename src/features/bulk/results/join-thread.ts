import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import type { Config } from "../../../config/config.ts";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { workerFile } from "../../../platform/worker-file.ts";
import type { ObjectStreams } from "../../../stores/objects/object-streams.ts";
import type { SpanDeps } from "../analysis/spans.ts";
import { Interruption, interruptOnOutage } from "../run/control.ts";
import { type PackedError, packError, unpackError } from "../run/packed-errors.ts";
import type { GrantCheck } from "../submit/grant-check.ts";
import type { JobMaterial } from "./job-results.ts";
import type { JoinRequest, JoinResponse, JoinTask, MessageToJoin } from "./join-messages.ts";

/** What the thread is born with (`workerData`): its clients of object storage and of the disk are its own. */
export interface JoinThreadSetup {
  objects: NonNullable<Config["objects"]>;
  scratchDir: string;
}

/** What a join asks of the main thread. */
export interface JoinSources {
  chunksOf: SpanDeps["chunksOf"];
  granted: GrantCheck;
  /** For buckets of other owners: the task's own reads, which stop waiting for a bucket that keeps failing. */
  readRange: ObjectStreams["readRange"];
}

/**
 * A thread that puts results together, so that a long list's keep no chunk waiting, and are another core's work. It begins
 * with the first join, and ends when none came for LIMITS.results.threadIdleMs.
 */
export interface JoinThread {
  /**
   * As `writeResults`, which it runs there.
   * @throws as that does; Error when the thread died (of memory, where that does not end the process): what of objects it had sent in parts goes
   *   an hour after the job's end; Interruption when it was closed
   */
  write(material: JobMaterial, key: string, sources: JoinSources, signal: AbortSignal): Promise<void>;
  /** Ends the thread, with what is under way. Idempotent. */
  close(): Promise<void>;
}

async function answerRequest(sources: JoinSources, jobId: string, asked: JoinRequest): Promise<JoinResponse> {
  switch (asked.of) {
    case "chunks":
      return sources.chunksOf(jobId, asked.after, asked.limit);
    case "granted":
      return sources.granted(asked.teamId, asked.place);
    case "range":
      return sources.readRange(asked.ref, asked.range);
  }
}

/** Answers the join's requests until the port is closed. Outages are recognised here, where the classes of errors are known. */
function serveRequests(sources: JoinSources, jobId: string, port: MessagePort): void {
  port.on("message", async (asked: JoinRequest) => {
    const { question } = asked;
    const reply = await interruptOnOutage(() => answerRequest(sources, jobId, asked)).then(
      (answer): MessageToJoin => ({ type: "answer", question, answer }),
      (error: unknown): MessageToJoin => ({ type: "failed", question, error: packError(error) }),
    );
    port.postMessage(reply);
  });
}

function startPool(setup: JoinThreadSetup, filename: string): Piscina {
  const { threadIdleMs, threadHeapMb } = LIMITS.results;
  return new Piscina({
    filename,
    minThreads: 0,
    maxThreads: 1,
    // The lane of assemblies bounds them; a cancelled one may still be ending beside the next.
    concurrentTasksPerWorker: LIMITS.bulk.wholeAtOnce * 2,
    idleTimeout: threadIdleMs,
    // An event loop for sockets, as check threads are.
    atomics: "disabled",
    recordTiming: false,
    workerData: setup,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
  });
}

/**
 * Rejects when a join is cancelled before the thread has begun it: there may never be a thread to receive the cancellation.
 * A join that the thread has begun ends itself, and what it had sent in parts.
 */
function rejectIfAbortedBeforeStart(port: MessagePort, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const drop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", drop, { once: true });
    const settle = () => signal.removeEventListener("abort", drop);
    // The first that a join does is to ask.
    port.once("message", settle);
    port.once("close", settle);
  });
}

function closedThread(cause?: unknown): Interruption {
  return new Interruption("the thread that puts results together was closed", { cause });
}

export function createJoinThread(
  setup: JoinThreadSetup,
  log: Logger,
  file: string = workerFile("join"),
): JoinThread {
  let pool: Piscina | null = null;
  let closed = false;

  /** The next join begins another: what this had in hand, and in its queue, fails. */
  function drop(failed: Piscina): void {
    if (pool === failed) pool = null;
    failed.destroy().catch(() => undefined);
  }

  function start(): Piscina {
    const started = startPool(setup, file);
    // As of a thread that fails while it loads: Piscina begins no other then, and what waits for this would wait for ever.
    started.on("error", (error) => {
      log.error({ err: error }, "the thread that puts results together failed");
      drop(started);
    });
    return started;
  }

  /**
   * @throws Error when the thread dies, whatever it dies of: its end of the channel goes with it; the signal's reason when it
   *   was not begun
   */
  async function run(
    running: Piscina,
    task: JoinTask,
    port: MessagePort,
    signal: AbortSignal,
  ): Promise<PackedError | null> {
    const died = new Promise<never>((_, reject) => port.on("close", () => reject(new Error("it ended"))));
    const ended = running.run(task, { transferList: [task.port] });
    try {
      return await Promise.race([ended, died, rejectIfAbortedBeforeStart(port, signal)]);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      if (closed) throw closedThread(error);
      log.error({ err: error, job: task.material.jobId }, "the thread that puts results together died");
      drop(running);
      throw new Error("the thread that puts results together died", { cause: error });
    }
  }

  return {
    async write(material, key, sources, signal) {
      signal.throwIfAborted();
      if (closed) throw closedThread();
      pool ??= start();
      const { port1, port2 } = new MessageChannel();
      const cancel = () => port1.postMessage({ type: "cancel" } satisfies MessageToJoin);
      signal.addEventListener("abort", cancel, { once: true });
      serveRequests(sources, material.jobId, port1);
      try {
        const error = await run(pool, { material, key, port: port2 }, port1, signal);
        if (error !== null) throw unpackError(error);
      } finally {
        signal.removeEventListener("abort", cancel);
        port1.close();
      }
    },
    async close() {
      closed = true;
      await pool?.destroy();
    },
  };
}
