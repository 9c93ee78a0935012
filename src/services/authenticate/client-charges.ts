import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { ClientLimiter } from "../rate-limit/clients.ts";

/** Who sent a credential. */
export interface Caller {
  /** Read when first asked for. */
  readonly clientAddress: string;
}

/** Charges credentials that are none to the address that sent them. */
export interface ClientCharges {
  /** `error`, for which the caller pays. @throws AppError `rate_limited` instead, when the caller cannot */
  charge(error: AppError, caller: Caller | undefined): AppError;
  /**
   * Looks up what may turn out to be unknown, and charges it then.
   * @throws AppError `rate_limited` when the caller could not pay for it; nothing is looked up then
   */
  lookUp<T>(find: () => Promise<T>, caller: Caller | undefined): Promise<T>;
}

export function createClientCharges(deps: {
  clients: ClientLimiter;
  clock: Pick<Clock, "monotonic">;
  /** Counts those that were refused. */
  limited: { count: number };
}): ClientCharges {
  const { clients, clock, limited } = deps;

  function refuse(address: string): void {
    const refusal = clients.refusal(address, clock.monotonic());
    if (refusal === null) return;
    limited.count += 1;
    throw refusal;
  }

  return {
    charge(error, caller) {
      if (caller === undefined) return error;
      refuse(caller.clientAddress);
      clients.charge(caller.clientAddress, 1, clock.monotonic());
      return error;
    },
    lookUp(find, caller) {
      if (caller === undefined) return find();
      const address = caller.clientAddress;
      refuse(address);
      return find().catch((error: unknown) => {
        if (error instanceof AppError && error.code === "unauthorized")
          clients.charge(address, 1, clock.monotonic());
        throw error;
      });
    },
  };
}
