import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { callBlocked } from "../store/job-retries.ts";
import type { Database } from "../store/postgres.ts";

/** Rows of jobs that wait at sites which blocked the egress. */
export interface ParkedRows {
  /** The site lets us in again: those that wait for it are due now. Idempotent, in pieces. @returns how many rows */
  release(site: string): Promise<number>;
  /** The same. Never rejects: those that are not called come when they are due. */
  call(site: string): Promise<void>;
}

export function createParkedRows(deps: { sql: Database; egress: string; log: Logger }): ParkedRows {
  const { sql, egress, log } = deps;

  async function release(site: string): Promise<number> {
    const { releasedAtOnce, releaseRounds } = LIMITS.breaker;
    let released = 0;
    for (let round = 0; round < releaseRounds; round++) {
      const { retries, rows } = await callBlocked(sql, { egress, site }, releasedAtOnce);
      released += rows;
      if (retries < releasedAtOnce) break;
    }
    return released;
  }

  return {
    release,
    async call(site) {
      try {
        await release(site);
      } catch (error) {
        log.debug({ err: error }, "rows that waited for a site could not be called");
      }
    },
  };
}
