import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { upTo } from "../../../platform/lru.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { type RetryCursor, releaseBlockedRetries } from "../schedule/job-retries.ts";

/** Rows of jobs that wait at sites which blocked the egress. */
export interface ParkedRows {
  /**
   * Makes the parked rows of a site due, because it accepts us again. Idempotent, in pieces, and for one site at most once
   * in LIMITS.breaker.releaseEveryMs: calls before then share the next release.
   * @returns number of rows
   */
  release(site: string): Promise<number>;
  /** The same. Never rejects: those that are not released come when they are due. */
  tryRelease(site: string): Promise<void>;
}

interface Deps {
  sql: Database;
  egress: string;
  clock: Clock;
  log: Logger;
}

export function createParkedRows({ sql, egress, clock, log }: Deps): ParkedRows {
  const { releasedAtOnce, releaseRounds, releaseEveryMs, ways } = LIMITS.breaker;
  const startedAtMs = new LRUCache<string, number>(upTo(ways));
  const running = new Map<string, Promise<number>>();
  /** Releases that have not started: each serves all calls until it starts. */
  const scheduled = new Map<string, Promise<number>>();

  async function releaseAll(site: string): Promise<number> {
    let released = 0;
    let after: RetryCursor | null = null;
    for (let round = 0; round < releaseRounds; round++) {
      const batch = await releaseBlockedRetries(sql, { egress, site, after }, releasedAtOnce);
      released += batch.rows;
      if (batch.retries < releasedAtOnce) break;
      after = batch.last;
    }
    return released;
  }

  async function releaseWhenDue(site: string): Promise<number> {
    const waitMs = (startedAtMs.get(site) ?? Number.NEGATIVE_INFINITY) + releaseEveryMs - clock.monotonic();
    if (waitMs > 0) await pause(clock, waitMs);
    // Always awaits, even if no release is running: `release` must put this one into `scheduled` first.
    await running.get(site)?.catch(() => {});
    scheduled.delete(site);
    startedAtMs.set(site, clock.monotonic());
    const run = releaseAll(site);
    running.set(site, run);
    try {
      return await run;
    } finally {
      if (running.get(site) === run) running.delete(site);
    }
  }

  function release(site: string): Promise<number> {
    const next = scheduled.get(site) ?? releaseWhenDue(site);
    scheduled.set(site, next);
    return next;
  }

  return {
    release,
    async tryRelease(site) {
      try {
        await release(site);
      } catch (error) {
        log.debug({ err: error }, "rows that waited for a site could not be released");
      }
    },
  };
}
