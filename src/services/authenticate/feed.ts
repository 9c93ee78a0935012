import type { Clock, Timer } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { AuthBus } from "../../store/auth-bus.ts";
import type { AuthChange, AuthChanges } from "../../store/auth-changes.ts";

/**
 * Follows what changes about credentials, and says up to when the cache is known to be right.
 *
 * Every change is a row of `auth_changes`, written in the transaction that makes the change. A poll that began at T
 * and whose rows were applied proves all that was cached before T. Polls come every LIMITS.keys.pollMs, so a change is
 * noticed within that, with or without Redis; the bus only makes it immediate.
 *
 * While Postgres does not answer, nothing new is proven, and after LIMITS.keys.confirmMs nothing cached may be used:
 * somebody else might still reach Postgres and revoke a key. The bus bridges that: whoever commits a change announces
 * it, so a subscription that is unbroken since before the last good poll, and proven alive by a ping begun at T, has
 * brought every change committed before T. The one hole: a process that dies between commit and announcement while
 * Postgres is away from here. LIMITS.keys.busOnlyMs bounds it.
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
  /** Drops what is cached of the subject. */
  apply(change: AuthChange): void;
  /** Drops everything: changes may have been missed. */
  reset(): void;
  /** Called with each poll, whatever comes of it: for what has to go when its time is up. */
  polling(): void;
}

export function createChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  const { changes, bus, clock, log } = deps;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let cursor: string | null = null;
  /** The bus session that was up before the last good poll began. */
  let anchor: number | null = null;
  let reading: Promise<void> | undefined;
  let pinging: Promise<void> | undefined;
  let failing = false;
  let timer: Timer | undefined;
  let stopped = false;

  function confirm(atMs: number): void {
    confirmedAtMs = Math.max(confirmedAtMs, atMs);
  }

  function report(error: unknown): void {
    if (!failing) log.warn({ err: error }, "cannot read the changes of credentials");
    failing = true;
  }

  async function readChanges(): Promise<void> {
    const beganAtMs = clock.monotonic();
    const session = bus.session;
    const page = await changes.since(cursor);
    // What was pruned before it was read is not known: the first read and one after a long silence start afresh. So does
    // one after a failure: a standby that was promoted meanwhile may have lost transactions and given their ids anew.
    const gap = beganAtMs - readAtMs > LIMITS.keys.changesKeptMs / 2;
    if (gap || failing || page.overflow) deps.reset();
    else for (const change of page.changes) deps.apply(change);
    cursor = page.cursor;
    readAtMs = beganAtMs;
    anchor = bus.session === session ? session : null;
    confirm(beganAtMs);
    if (failing) log.info("reading the changes of credentials again");
    failing = false;
  }

  async function pingBus(): Promise<void> {
    const beganAtMs = clock.monotonic();
    const session = bus.session;
    if (session === null || session !== anchor) return;
    await bus.settle();
    const unbroken = bus.session === session && anchor === session;
    if (unbroken && beganAtMs - readAtMs < LIMITS.keys.busOnlyMs) confirm(beganAtMs);
  }

  // One at a time of each: what hangs is joined, not multiplied. Pool and connection have time limits of their own.
  async function poll(): Promise<void> {
    deps.polling();
    reading ??= readChanges()
      .catch(report)
      .finally(() => {
        reading = undefined;
      });
    pinging ??= pingBus()
      .catch((error) => log.debug({ err: error }, "the bus does not answer"))
      .finally(() => {
        pinging = undefined;
      });
    await Promise.all([reading, pinging]);
  }

  function tick(): void {
    if (stopped) return;
    void poll();
    timer = clock.after(LIMITS.keys.pollMs, tick);
  }

  return {
    poll,
    confirmedAtMs: () => confirmedAtMs,
    async start() {
      bus.listen(deps.apply);
      await poll();
      timer = clock.after(LIMITS.keys.pollMs, tick);
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
