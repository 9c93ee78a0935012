import type { Clock } from "../../core/clock.ts";

/** Ends after `ms`, or when `halted` is aborted, or `sooner` is settled. */
export function pause(
  clock: Pick<Clock, "after">,
  ms: number,
  halted: AbortSignal,
  sooner?: Promise<unknown>,
): Promise<void> {
  return new Promise((resolve) => {
    if (halted.aborted) return resolve();
    const end = () => {
      timer.cancel();
      halted.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    halted.addEventListener("abort", end);
    sooner?.then(end, end);
  });
}
