import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
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

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it is cancelled. */
function pause(clock: Clock, delayMs: number, cancelled?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      timer.cancel();
      reject(cancelled?.reason);
    };
    const timer = clock.after(delayMs, () => {
      cancelled?.removeEventListener("abort", cancel);
      resolve();
    });
    if (cancelled?.aborted === true) cancel();
    else cancelled?.addEventListener("abort", cancel, { once: true });
  });
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
    },
  };
}
