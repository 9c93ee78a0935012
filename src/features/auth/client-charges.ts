import { LIMITS } from "../../config/limits/limits.ts";
import { clientShare } from "../../platform/client-network.ts";
import { AppError } from "../../platform/errors.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { ClientLimiter } from "../rate-limit/clients.ts";

/** The sender of a credential. */
export interface Caller {
  /** Read when first asked for. */
  readonly clientAddress: string;
}

/** Charges invalid credentials to the address that sent them. */
export interface ClientCharges {
  /** `error`, for which the caller pays. @throws AppError `rate_limited` instead, when the caller cannot */
  charge(error: AppError, caller: Caller | undefined): AppError;
  /**
   * Looks up a credential, and charges the caller if it is unknown.
   * @param isUnderWay `find` joins a look-up in progress, and costs nothing itself
   * @throws AppError `rate_limited` when the caller could not pay for it, or has LIMITS.keys.lookupsPerSite in progress;
   *   then there is no look-up
   */
  lookUp<T>(find: () => Promise<T>, caller: Caller | undefined, isUnderWay: boolean): Promise<T>;
}

/** Thrown by the thousand, and each would cost a stack. */
const TOO_MANY = new AppError(
  "rate_limited",
  "Too many credentials that come from this network address are being looked up.",
  { retryAfterS: 1 },
);

export function createClientCharges(deps: {
  clients: ClientLimiter;
  clock: Pick<Clock, "monotonic">;
  /** Counts those that were refused. */
  limited: { count: number };
}): ClientCharges {
  const { clients, clock, limited } = deps;

  /** Look-ups in progress, by IPv4 address or IPv6 site. Each is charged when it is over. */
  const underWay = new Map<string, number>();

  function limit(refusal: AppError): never {
    limited.count += 1;
    throw refusal;
  }

  function refuse(address: string): void {
    const refusal = clients.refusal(address, clock.monotonic());
    if (refusal !== null) limit(refusal);
  }

  /** @returns a function to call when the look-up is over */
  function begin(address: string): () => void {
    const site = clientShare(address);
    const before = underWay.get(site) ?? 0;
    if (before >= LIMITS.keys.lookupsPerSite) limit(TOO_MANY);
    underWay.set(site, before + 1);
    return () => {
      const left = (underWay.get(site) ?? 0) - 1;
      if (left > 0) underWay.set(site, left);
      else underWay.delete(site);
    };
  }

  async function charged<T>(find: () => Promise<T>, address: string, end: () => void): Promise<T> {
    try {
      return await find();
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthorized")
        clients.charge(address, 1, clock.monotonic());
      throw error;
    } finally {
      end();
    }
  }

  return {
    charge(error, caller) {
      if (caller === undefined) return error;
      refuse(caller.clientAddress);
      clients.charge(caller.clientAddress, 1, clock.monotonic());
      return error;
    },
    lookUp(find, caller, isUnderWay) {
      if (caller === undefined) return find();
      const address = caller.clientAddress;
      refuse(address);
      return charged(find, address, isUnderWay ? () => undefined : begin(address));
    },
  };
}
