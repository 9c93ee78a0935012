import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import type { AuthBus } from "./auth-bus.ts";
import type { AuthChange, AuthChanges } from "./auth-changes.ts";

/**
 * Follows changes of credentials, and tells up to when the cache is known to be right.
 *
 * Every change is a row of `auth_changes`, written in the transaction that makes the change. A poll that began at T and
 * whose rows were applied proves all that was cached before T. Polls come every LIMITS.keys.pollMs, so a change is noticed
 * within that, with or without Redis; the bus only makes it immediate.
 *
 * While Postgres does not answer, nothing new is proven, and after LIMITS.keys.confirmMs no cached entry may be used:
 * another process might still reach Postgres and revoke a key. The bus bridges that time: the process that commits a change
 * announces it. A subscription that is unbroken since before the last good poll, and answers a ping begun at T, has
 * received every change committed before T. One gap remains: a process that dies between commit and announcement while
 * Postgres is unreachable from here. LIMITS.keys.busOnlyMs bounds it.
 */
export interface ChangeFeed {
  /** Reads Postgres and pings the bus once. The timer calls it; settles when both have answered. Never rejects. */
  poll(): Promise<void>;
  /** Monotonic time: everything cached before it and not dropped since was right then. */
  confirmedAtMs(): number;
  start(): Promise<void>;
  stop(): void;
}

export interface ChangeFeedDeps {
  changes: AuthChanges;
  bus: AuthBus;
  clock: Clock;
  log: Logger;
  /** Drops the cached data of the subject. */
  apply(change: AuthChange): void;
  /** Drops everything: changes may have been missed. */
  reset(): void;
  /** Called with each poll, whatever its result, to remove expired data. */
  onPoll(): void;
}

class PolledChangeFeed implements ChangeFeed {
  readonly #deps: ChangeFeedDeps;
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #cursor: string | null = null;
  /** The bus session that was up before the last good poll began. */
  #anchor: number | null = null;
  #reading: Promise<void> | undefined;
  #pinging: Promise<void> | undefined;
  #failing = false;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(deps: ChangeFeedDeps) {
    this.#deps = deps;
  }

  // One of each at a time: callers join a hanging one instead of starting another. Pool and connection have time limits of
  // their own.
  async poll(): Promise<void> {
    this.#deps.onPoll();
    this.#reading ??= this.#readChanges()
      .catch((error: unknown) => this.#report(error))
      .finally(() => {
        this.#reading = undefined;
      });
    this.#pinging ??= this.#pingBus()
      .catch((error) => this.#deps.log.debug({ err: error }, "the bus does not answer"))
      .finally(() => {
        this.#pinging = undefined;
      });
    await Promise.all([this.#reading, this.#pinging]);
  }

  confirmedAtMs(): number {
    return this.#confirmedAtMs;
  }

  async start(): Promise<void> {
    this.#deps.bus.listen(this.#deps.apply);
    await this.poll();
    this.#timer = this.#deps.clock.after(LIMITS.keys.pollMs, () => this.#tick());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #confirm(atMs: number): void {
    this.#confirmedAtMs = Math.max(this.#confirmedAtMs, atMs);
  }

  #report(error: unknown): void {
    if (!this.#failing) this.#deps.log.warn({ err: error }, "cannot read the changes of credentials");
    this.#failing = true;
  }

  async #readChanges(): Promise<void> {
    const beganAtMs = this.#deps.clock.monotonic();
    const session = this.#deps.bus.session;
    const page = await this.#deps.changes.since(this.#cursor);
    // Changes may have been pruned before they were read. So the first read, and one after a long silence, start from the
    // beginning. So does one after a failure: a standby that was promoted since may have lost transactions, and reuse their
    // ids.
    const gap = beganAtMs - this.#readAtMs > LIMITS.keys.changesKeptMs / 2;
    if (gap || this.#failing || page.overflow) this.#deps.reset();
    else for (const change of page.changes) this.#deps.apply(change);
    this.#cursor = page.cursor;
    this.#readAtMs = beganAtMs;
    this.#anchor = this.#deps.bus.session === session ? session : null;
    this.#confirm(beganAtMs);
    if (this.#failing) this.#deps.log.info("reading the changes of credentials again");
    this.#failing = false;
  }

  async #pingBus(): Promise<void> {
    const beganAtMs = this.#deps.clock.monotonic();
    const session = this.#deps.bus.session;
    if (session === null || session !== this.#anchor) return;
    await this.#deps.bus.settle();
    const unbroken = this.#deps.bus.session === session && this.#anchor === session;
    if (unbroken && beganAtMs - this.#readAtMs < LIMITS.keys.busOnlyMs) this.#confirm(beganAtMs);
  }

  #tick(): void {
    if (this.#stopped) return;
    void this.poll();
    this.#timer = this.#deps.clock.after(LIMITS.keys.pollMs, () => this.#tick());
  }
}

export function createChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  return new PolledChangeFeed(deps);
}
