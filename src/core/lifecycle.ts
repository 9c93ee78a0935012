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

class PartsLifecycle implements Lifecycle {
  readonly #parts: Part[];
  readonly #options: LifecycleOptions;
  readonly #started: Part[] = [];
  #state: LifecycleState = "new";
  #stopping: Promise<void> | undefined;
  #hurried = false;
  #endWait: () => void = () => undefined;

  constructor(parts: Part[], options: LifecycleOptions) {
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
    this.#hurried = true;
    this.#endWait();
  }

  get state(): LifecycleState {
    return this.#state;
  }

  async #step(part: Part, verb: "drain" | "stop", deadline: number): Promise<void> {
    const action = part[verb];
    if (!action) return;
    const share = verb === "drain" ? DRAIN_SHARE : 1;
    const leftMs = Math.max(STEP_MIN_MS, (deadline - this.#options.clock.monotonic()) * share);
    let expire: { cancel(): void } | undefined;
    const expired = new Promise<"expired">((resolve) => {
      expire = this.#options.clock.after(leftMs, () => resolve("expired"));
    });
    try {
      const outcome = await Promise.race([Promise.resolve(action.call(part)), expired]);
      if (outcome === "expired")
        this.#options.log.warn({ part: part.name, verb }, "a part did not finish within its grace");
    } catch (error) {
      this.#options.log.error({ err: error, part: part.name, verb }, "a part failed while going down");
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
    // Who has not begun to serve is waited for by nobody.
    const served = this.#state === "running";
    this.#state = "leaving";
    for (const part of [...this.#started].reverse()) part.leave?.();
    if (served && this.#options.leaveMs > 0 && !this.#hurried) await this.#wait(this.#options.leaveMs);
  }

  async #shutDown(): Promise<void> {
    const begunMs = this.#options.clock.monotonic();
    await this.#leave();
    this.#state = "draining";
    const leftMs = this.#options.graceMs - (this.#options.clock.monotonic() - begunMs);
    const drainDeadline = this.#options.clock.monotonic() + leftMs * DRAIN_PART;
    for (const part of [...this.#started].reverse()) await this.#step(part, "drain", drainDeadline);
    const stopDeadline = this.#options.clock.monotonic() + leftMs * (1 - DRAIN_PART);
    for (const part of [...this.#started].reverse()) await this.#step(part, "stop", stopDeadline);
    this.#state = "stopped";
  }
}

export function createLifecycle(parts: Part[], options: LifecycleOptions): Lifecycle {
  return new PartsLifecycle(parts, options);
}
