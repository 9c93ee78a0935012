import { LIMITS } from "../../config/limits/limits.ts";
import { type Clock, pause } from "../../platform/time/clock.ts";
import { ObjectsOutage } from "./object-errors.ts";

/** Consecutive failures of object storage, without progress in between. */
export interface RetryBackoff {
  /** Records progress. */
  reset(): void;
  /**
   * Waits before the next attempt.
   * @param final an error that makes a retry useless
   * @throws `final`; ObjectsOutage when no attempt is left; the reason of the cancellation
   */
  waitOrThrow(error: unknown, final?: Error | null): Promise<void>;
}

export function createRetryBackoff(clock: Clock, cancelled?: AbortSignal): RetryBackoff {
  const { tries, retryFirstMs, retryMaxMs } = LIMITS.objects;
  let failed = 0;
  return {
    reset() {
      failed = 0;
    },
    async waitOrThrow(error, final = null) {
      if (final !== null) throw final;
      failed++;
      if (failed >= tries) throw new ObjectsOutage("object storage failed repeatedly", { cause: error });
      await pause(clock, Math.min(retryMaxMs, retryFirstMs * 2 ** (failed - 1)), cancelled);
      cancelled?.throwIfAborted();
    },
  };
}
