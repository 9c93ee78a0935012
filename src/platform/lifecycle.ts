import type { Logger } from "./log.ts";
import type { Clock } from "./time/clock.ts";

/** A part of the process with an ordered life. Each step is optional. */
export interface LifecyclePart {
  name: string;
  start?(): Promise<void> | void;
  /** Directs new clients elsewhere while everything is still served. Must not throw. */
  leave?(): void;
  /** Refuses new work, finishes or hands back work in progress. */
  drain?(): Promise<void> | void;
  /** Releases sockets, timers and threads. */
  stop?(): Promise<void> | void;
}

export interface Lifecycle {
  /**
   * Starts the parts in order; when one fails, those already started are stopped and the error is thrown. When stop() is
   * called meanwhile, no further part starts, and it resolves once all have stopped.
   */
  start(): Promise<void>;
  /**
   * Calls `leave` of all parts and, when all had started, waits `leaveMs`: the time that load balancers need to notice.
   * Then drains all in reverse order, then stops all in reverse order. Idempotent. Bounded by `graceMs` in all.
   */
  stop(): Promise<void>;
  /** Ends the wait of a running `stop`. */
  hurry(): void;
  readonly state: LifecycleState;
}

/** `new` until all parts have started. */
export type LifecycleState = "new" | "running" | "leaving" | "draining" | "stopped";

export interface LifecycleOptions {
  log: Logger;
  clock: Clock;
  graceMs: number;
  /** Part of `graceMs`. */
  leaveMs: number;
}

/** Share of the shutdown time for draining. */
const DRAIN_SHARE_OF_GRACE = 0.8;
/**
 * Maximum share of the remaining drain time for one part: however long it hangs, the parts after it can give back what they
 * hold.
 */
const PART_SHARE_OF_DRAIN = 0.85;
const STEP_MIN_MS = 100;

class PartsLifecycle implements Lifecycle {
  readonly #parts: LifecyclePart[];
  readonly #options: LifecycleOptions;
  readonly #started: LifecyclePart[] = [];
  #state: LifecycleState = "new";
  #stopping: Promise<void> | undefined;
  #isWaitSkipped = false;
  #endWait: () => void = () => undefined;

  constructor(parts: LifecyclePart[], options: LifecycleOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  async start(): Promise<void> {
    for (const part of this.#parts) {
      if (this.#stopping) return this.#stopping;
      this.#started.push(part);
      try {
        await part.start?.();
      } catch (error) {
        await this.stop();
        throw error;
      }
    }
    if (this.#stopping) return this.#stopping;
    this.#state = "running";
  }

  hurry(): void {
    this.#isWaitSkipped = true;
    this.#endWait();
  }

  get state(): LifecycleState {
    return this.#state;
  }

  async #step(part: LifecyclePart, verb: "drain" | "stop", deadline: number): Promise<void> {
    const action = part[verb];
    if (!action) return;
    const share = verb === "drain" ? PART_SHARE_OF_DRAIN : 1;
    const leftMs = Math.max(STEP_MIN_MS, (deadline - this.#options.clock.monotonic()) * share);
    let expire: { cancel(): void } | undefined;
    const expired = new Promise<"expired">((resolve) => {
      expire = this.#options.clock.after(leftMs, () => resolve("expired"));
    });
    try {
      const outcome = await Promise.race([Promise.resolve(action.call(part)), expired]);
      if (outcome === "expired")
        this.#options.log.warn({ part: part.name, verb }, "a part did not stop within its grace period");
    } catch (error) {
      this.#options.log.error({ err: error, part: part.name, verb }, "a part failed during shutdown");
    } finally {
      expire?.cancel();
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(ms, resolve);
      this.#endWait = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async #leave(): Promise<void> {
    // A process that has not served yet has no clients to wait for.
    const served = this.#state === "running";
    this.#state = "leaving";
    for (const part of [...this.#started].reverse()) part.leave?.();
    if (served && this.#options.leaveMs > 0 && !this.#isWaitSkipped) await this.#wait(this.#options.leaveMs);
  }

  async #shutDown(): Promise<void> {
    const startedMs = this.#options.clock.monotonic();
    await this.#leave();
    this.#state = "draining";
    const leftMs = this.#options.graceMs - (this.#options.clock.monotonic() - startedMs);
    const drainDeadline = this.#options.clock.monotonic() + leftMs * DRAIN_SHARE_OF_GRACE;
    for (const part of [...this.#started].reverse()) await this.#step(part, "drain", drainDeadline);
    const stopDeadline = this.#options.clock.monotonic() + leftMs * (1 - DRAIN_SHARE_OF_GRACE);
    for (const part of [...this.#started].reverse()) await this.#step(part, "stop", stopDeadline);
    this.#state = "stopped";
  }
}

export function createLifecycle(parts: LifecyclePart[], options: LifecycleOptions): Lifecycle {
  return new PartsLifecycle(parts, options);
}
