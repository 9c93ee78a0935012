import { AppError } from "../../src/platform/errors.ts";
import type { LeaseStore } from "../../src/platform/leasing/leased-counter.ts";
import { createFakeClock } from "./fake-clock.ts";

/** A store that grants nothing, for an account that a test keeps by itself; `parts` may override each part. */
export function leaseStore<Counter, Unit>(
  parts: Partial<LeaseStore<Counter, Unit>> = {},
): LeaseStore<Counter, Unit> {
  return {
    clock: createFakeClock(),
    sizes: { first: 1, goneMs: 200, lastedMs: 600 },
    isDraining: false,
    waitersMax: 1_000,
    tooManyWait: new AppError("overloaded", "Too many requests wait."),
    lease: async () => {},
    failed: (_counter, error, waiters) => {
      for (const waiter of waiters) waiter.reject(error);
    },
    ...parts,
  };
}
