import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { createFairQueue } from "../../platform/fair-queue.ts";
import { createTeamSlots } from "../../platform/team-slots.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";

/**
 * Turns of requests that read from Postgres (those of the rate class `read`), before they take a connection. All of them
 * together use a part of the process's connections, one share (`shareKey`) a part of that, and the next turn is of the share
 * served longest ago. The other connections are left to what every request needs: credentials, quota leases, idempotency keys.
 */
export interface ReadTurns {
  /**
   * @param isCancelled true when the client has gone: its turn is skipped
   * @throws AppError `overloaded` after a wait of LIMITS.postgres.readWaitMs, or when too many wait, in all or of the share; what
   *   `read` throws
   */
  run<T>(share: string, isCancelled: () => boolean, read: () => MaybePromise<T>): Promise<T>;
}

const tooBusy = () =>
  new AppError("overloaded", "Too many reads are in progress. Retry after 1 s.", { retryAfterS: 1 });

/** @param connections of the process, to Postgres */
export function createReadTurns(clock: Pick<Clock, "after">, connections: number): ReadTurns {
  const atOnce = Math.ceil(connections * LIMITS.postgres.readsPart);
  const queue = createFairQueue({ atOnce, perShare: Math.ceil(atOnce / 2) });
  const slots = createTeamSlots(LIMITS.postgres.readSlots, tooBusy);
  return {
    async run(share, isCancelled, read) {
      const giveBack = slots.take(share);
      return new Promise((resolve, reject) => {
        let isLate = false;
        const timer = startStallTolerantTimer(clock, LIMITS.postgres.readWaitMs, () => {
          isLate = true;
          reject(tooBusy());
        });
        const turn = queue.run(share, async () => {
          timer.cancel();
          if (isLate) throw tooBusy();
          if (isCancelled()) throw new AppError("bad_request", "The client has gone.");
          return read();
        });
        turn.finally(giveBack).then(resolve, reject);
      });
    },
  };
}
