import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";

/** A part of the process with an ordered life. Each step is optional. */
export interface Part {
  name: string;
  start?(): Promise<void> | void;
  /** Refuse new work, finish or hand back what is in flight. */
  drain?(): Promise<void> | void;
  /** Let go of sockets, timers and threads. */
  stop?(): Promise<void> | void;
}

export interface Lifecycle {
  /**
   * Starts the parts in order; when one fails, those already started are stopped and the error is thrown. When stop()
   * comes meanwhile no further part is started, and it resolves once all have stopped.
   */
  start(): Promise<void>;
  /** Drains all in reverse order, then stops all in reverse order. Idempotent. Bounded by `graceMs` in all. */
  stop(): Promise<void>;
  readonly state: "new" | "running" | "draining" | "stopped";
}

/** Of what is left for draining one part may take so much: however long it hangs, those behind it can give back what they hold. */
const DRAIN_SHARE = 0.85;
const STEP_MIN_MS = 100;

export function createLifecycle(
  parts: Part[],
  options: { log: Logger; clock: Clock; graceMs: number },
): Lifecycle {
  const { log, clock, graceMs } = options;
  const started: Part[] = [];
  let state: Lifecycle["state"] = "new";
  let stopping: Promise<void> | undefined;

  async function step(part: Part, verb: "drain" | "stop", deadline: number): Promise<void> {
    const action = part[verb];
    if (!action) return;
    const share = verb === "drain" ? DRAIN_SHARE : 1;
    const leftMs = Math.max(STEP_MIN_MS, (deadline - clock.monotonic()) * share);
    let expire: { cancel(): void } | undefined;
    const expired = new Promise<"expired">((resolve) => {
      expire = clock.after(leftMs, () => resolve("expired"));
    });
    try {
      const outcome = await Promise.race([Promise.resolve(action.call(part)), expired]);
      if (outcome === "expired")
        log.warn({ part: part.name, verb }, "a part did not finish within its grace");
    } catch (error) {
      log.error({ err: error, part: part.name, verb }, "a part failed while going down");
    } finally {
      expire?.cancel();
    }
  }

  async function shutDown(): Promise<void> {
    state = "draining";
    const drainDeadline = clock.monotonic() + graceMs * 0.8;
    for (const part of [...started].reverse()) await step(part, "drain", drainDeadline);
    const stopDeadline = clock.monotonic() + graceMs * 0.2;
    for (const part of [...started].reverse()) await step(part, "stop", stopDeadline);
    state = "stopped";
  }

  function stop(): Promise<void> {
    stopping ??= shutDown();
    return stopping;
  }

  return {
    async start() {
      for (const part of parts) {
        if (stopping) return stopping;
        started.push(part);
        try {
          await part.start?.();
        } catch (error) {
          await stop();
          throw error;
        }
      }
      if (stopping) return stopping;
      state = "running";
    },
    stop,
    get state() {
      return state;
    },
  };
}
