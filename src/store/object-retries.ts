import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import { ObjectsOutage } from "./object-errors.ts";

/** Failures of object storage that came one after another, with nothing achieved in between. */
export interface Failures {
  /** Something was achieved. */
  none(): void;
  /**
   * Waits until the next try may be made.
   * @param final what makes it useless
   * @throws `final`; ObjectsOutage when it was the last; the reason of the cancellation
   */
  another(error: unknown, final?: Error | null): Promise<void>;
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

export function failuresInARow(clock: Clock, cancelled?: AbortSignal): Failures {
  const { tries, retryFirstMs, retryMaxMs } = LIMITS.objects;
  let failed = 0;
  return {
    none() {
      failed = 0;
    },
    async another(error, final = null) {
      if (final !== null) throw final;
      failed++;
      if (failed >= tries) throw new ObjectsOutage("object storage failed again and again", { cause: error });
      await pause(clock, Math.min(retryMaxMs, retryFirstMs * 2 ** (failed - 1)), cancelled);
    },
  };
}
