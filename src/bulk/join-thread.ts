import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Granted } from "../services/bulk/granted.ts";
import type { SpanDeps } from "../services/bulk/spans.ts";
import type { JobMaterial } from "../store/job-results.ts";
import type { FromJoinThread, JoinAnswer, JoinQuestion, ToJoinThread } from "./join-messages.ts";
import { packError, unpackError } from "./packed-errors.ts";

/** What the thread is born with (`workerData`): its clients of object storage and of the disk are its own. */
export interface JoinThreadSetup {
  objects: NonNullable<Config["objects"]>;
  scratchDir: string;
}

/** What a join asks of the main thread. */
export interface JoinSources {
  chunksOf: SpanDeps["chunksOf"];
  granted: Granted;
}

/**
 * A thread that puts results together, so that a long list's keep no chunk waiting, and take another core. It begins with the
 * first join and lasts; one that died is begun anew by the next.
 */
export interface JoinThread {
  /** As `writeResults`, which it runs there. @throws as it does; Error when the thread died: what it held is lost */
  write(material: JobMaterial, key: string, sources: JoinSources, signal: AbortSignal): Promise<void>;
  /** Ends the thread, with what is under way. Idempotent. */
  close(): Promise<void>;
}

interface PendingJoin {
  jobId: string;
  sources: JoinSources;
  end(error: Error | null): void;
}

/** The thread's entry beside this tree, with the importer's own extension: `.ts` under tsx, `.js` compiled. */
function workerFile(): string {
  return fileURLToPath(new URL(`../../workers/join${extname(import.meta.url)}`, import.meta.url));
}

/** @param begin makes the thread; where not said, one of `workers/join` */
export function createJoinThread(
  setup: JoinThreadSetup,
  log: Logger,
  begin: (setup: JoinThreadSetup) => Worker = beginWorker,
): JoinThread {
  const pending = new Map<number, PendingJoin>();
  let worker: Worker | null = null;
  let joins = 0;
  let closed = false;

  function answerOf({ jobId, sources }: PendingJoin, asked: JoinQuestion): Promise<JoinAnswer> {
    if (asked.of === "chunks") return sources.chunksOf(jobId, asked.after, asked.limit);
    return sources.granted(asked.teamId, asked.place);
  }

  async function receive(from: Worker, message: FromJoinThread): Promise<void> {
    const { join } = message;
    const known = pending.get(join);
    if (known === undefined) return;
    if (message.type === "ended")
      return known.end(message.error === null ? null : unpackError(message.error));
    const { question } = message;
    const reply: ToJoinThread = await answerOf(known, message.asked).then(
      (answer) => ({ type: "answer", join, question, answer }),
      (error: unknown) => ({ type: "failed", join, question, error: packError(error) }),
    );
    if (from === worker) from.postMessage(reply);
  }

  function died(gone: Worker, cause: unknown): void {
    if (gone !== worker) return;
    worker = null;
    if (!closed) log.error({ err: cause, joins: pending.size }, "the thread that puts results together died");
    for (const join of [...pending.values()])
      join.end(new Error("the thread that puts results together died", { cause }));
  }

  function alive(): Worker {
    if (worker !== null) return worker;
    const begun = begin(setup);
    begun.on("message", (message: FromJoinThread) => void receive(begun, message));
    begun.on("error", (error) => died(begun, error));
    begun.on("exit", (code) => died(begun, new Error(`it ended with code ${code}`)));
    worker = begun;
    return begun;
  }

  return {
    async write(material, key, sources, signal) {
      signal.throwIfAborted();
      if (closed) throw new Error("the thread that puts results together was closed");
      const thread = alive();
      const join = joins++;
      const cancel = () => thread.postMessage({ type: "cancel", join } satisfies ToJoinThread);
      try {
        await new Promise<void>((resolve, reject) => {
          const end = (error: Error | null) => (error === null ? resolve() : reject(error));
          pending.set(join, { jobId: material.jobId, sources, end });
          thread.postMessage({ type: "begin", join, material, key } satisfies ToJoinThread);
          signal.addEventListener("abort", cancel, { once: true });
        });
      } finally {
        pending.delete(join);
        signal.removeEventListener("abort", cancel);
      }
    },
    async close() {
      closed = true;
      await worker?.terminate();
    },
  };
}

function beginWorker(setup: JoinThreadSetup): Worker {
  return new Worker(workerFile(), {
    name: "join",
    workerData: setup,
    resourceLimits: { maxOldGenerationSizeMb: LIMITS.results.threadHeapMb },
  });
}
