import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";

/** A part of the process with an ordered life. Each step is optional. */
export interface Part {
  name: string;
  start?(): Promise<void> | void;
  /** Send those who come elsewhere, while everything is served as ever. Must not throw. */
  leave?(): void;
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
  /**
   * Has all leave, and where they had all started, waits `leaveMs`: so long balancers have to see it. Then drains all in
   * reverse order, then stops all in reverse order. Idempotent. Bounded by `graceMs` in all.
   */
  stop(): Promise<void>;
  /** Ends the wait of a `stop` under way. */
  hurry(): void;
  readonly state: LifecycleState;
}

/** `new` until all parts have started. */
export type LifecycleState = "new" | "running" | "leaving" | "draining" | "stopped";

export interface LifecycleOptions {
  log: Logger;
  clock: Clock;
  graceMs: number;
  /** Of `graceMs`. */
  leaveMs: number;
}

/** Of the time to go down, so much is for draining. */
const DRAIN_PART = 0.8;
/** Of what is left for draining one part may take so much: however long it hangs, those behind it can give back what they hold. */
const DRAIN_SHARE = 0.85;
const STEP_MIN_MS = 100;

export function createLifecycle(parts: Part[], options: LifecycleOptions): Lifecycle {
  const { log, clock, graceMs, leaveMs } = options;
  const started: Part[] = [];
  let state: LifecycleState = "new";
  let stopping: Promise<void> | undefined;
  let hurried = false;
  let endWait = () => {};

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

  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve);
      endWait = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async function leave(): Promise<void> {
    // Who has not begun to serve is waited for by nobody.
    const served = state === "running";
    state = "leaving";
    for (const part of [...started].reverse()) part.leave?.();
    if (served && leaveMs > 0 && !hurried) await wait(leaveMs);
  }

  async function shutDown(): Promise<void> {
    const begunMs = clock.monotonic();
    await leave();
    state = "draining";
    const leftMs = graceMs - (clock.monotonic() - begunMs);
    const drainDeadline = clock.monotonic() + leftMs * DRAIN_PART;
    for (const part of [...started].reverse()) await step(part, "drain", drainDeadline);
    const stopDeadline = clock.monotonic() + leftMs * (1 - DRAIN_PART);
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
    hurry() {
      hurried = true;
      endWait();
    },
    get state() {
      return state;
    },
  };
}
