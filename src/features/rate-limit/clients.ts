import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { clientNetwork, clientSite } from "../../platform/client-network.ts";
import { AppError } from "../../platform/errors.ts";
import { upTo } from "../../platform/lru.ts";

export interface ClientLimits {
  burst: number;
  unitsPerS: number;
  debt: number;
  clientsPerSite: number;
  remembered: number;
}

/** How much of a limit is left, and when that changes. */
export interface LimitState {
  /** Requests that may be made now. */
  remaining: number;
  /** Whole seconds within which no more than `remaining` may be made. */
  resetS: number;
}

/**
 * Limits the load from unauthenticated clients, by address: a token bucket for each IPv4 address or IPv6 /64, and one of
 * `clientsPerSite` times the size for each IPv6 /48. It is local to the process, so that it needs no other service. One
 * limiter charges only refusals: well-behaved clients are never limited, however many share an address. Another charges
 * each request to a route without credentials, and allows far more.
 */
export interface ClientLimiter {
  /**
   * Takes `units`, also when fewer are left: the client waits the longer, by LIMITS.clients.debt units at most.
   * @param address as `HttpRequest` has it; one that is unknown counts as one client
   * @param nowMs monotonic
   */
  charge(address: string, units: number, nowMs: number): void;
  /** Why nothing that may cost a unit is done for the client now: `rate_limited` with the seconds to wait; null: it is. */
  refusal(address: string, nowMs: number): AppError | null;
  snapshot(address: string, nowMs: number): LimitState;
}

const REFUSED_TOO_OFTEN =
  "Too many requests with unknown credentials, or with bodies that are not taken, come from this network address.";

/**
 * A bucket is the time at which it is full again, so that a full one need not be kept. Each costs a number in a bounded
 * map; a bucket that was pushed out begins full.
 */
export function createClientLimiter(
  limits: ClientLimits = LIMITS.clients,
  detail = REFUSED_TOO_OFTEN,
): ClientLimiter {
  const fullAtMs = new LRUCache<string, number>(upTo(limits.remembered));
  const unitMs = 1000 / limits.unitsPerS;
  /** Of a unit of a site, whose bucket is `clientsPerSite` times as large and fills in the same time. */
  const siteUnitMs = unitMs / limits.clientsPerSite;
  const emptyMs = limits.burst * unitMs;
  const deepestMs = (limits.burst + limits.debt) * unitMs;
  /** By their seconds: refusals come by the thousand, and each new error costs a stack. */
  const refusals = new Map<number, AppError>();

  function take(key: string, spanMs: number, nowMs: number): void {
    const before = Math.max(fullAtMs.get(key) ?? nowMs, nowMs);
    fullAtMs.set(key, Math.min(before + spanMs, nowMs + deepestMs));
  }

  /** Until there is a whole unit; 0: there is. */
  function waitMs(key: string, ofUnitMs: number, nowMs: number): number {
    const fullMs = fullAtMs.get(key);
    return fullMs === undefined ? 0 : Math.max(0, fullMs - nowMs - emptyMs + ofUnitMs);
  }

  /** Whole units that are left. */
  function unitsLeft(key: string, ofUnitMs: number, nowMs: number): number {
    const emptiedMs = Math.max(0, (fullAtMs.get(key) ?? nowMs) - nowMs);
    return Math.max(0, Math.floor((emptyMs - emptiedMs) / ofUnitMs));
  }

  /** Until the client may do something that costs a unit. */
  function clientWaitMs(address: string, nowMs: number): number {
    const site = clientSite(address);
    const ofSite = site === null ? 0 : waitMs(site, siteUnitMs, nowMs);
    return Math.max(waitMs(clientNetwork(address), unitMs, nowMs), ofSite);
  }

  function refusalFor(ms: number): AppError {
    const retryAfterS = Math.ceil(ms / 1000);
    const known = refusals.get(retryAfterS);
    if (known !== undefined) return known;
    const refusal = new AppError("rate_limited", detail, { retryAfterS });
    refusals.set(retryAfterS, refusal);
    return refusal;
  }

  return {
    charge(address, units, nowMs) {
      take(clientNetwork(address), units * unitMs, nowMs);
      const site = clientSite(address);
      if (site !== null) take(site, units * siteUnitMs, nowMs);
    },
    refusal(address, nowMs) {
      // Most of the time no address is charged anything.
      if (fullAtMs.size === 0) return null;
      const ms = clientWaitMs(address, nowMs);
      return ms > 0 ? refusalFor(ms) : null;
    },
    snapshot(address, nowMs) {
      const site = clientSite(address);
      const own = unitsLeft(clientNetwork(address), unitMs, nowMs);
      const remaining = site === null ? own : Math.min(own, unitsLeft(site, siteUnitMs, nowMs));
      return { remaining, resetS: Math.max(1, Math.ceil(clientWaitMs(address, nowMs) / 1000)) };
    },
  };
}

/** The rate of a network address at routes that need no credential. */
export interface AddressRate extends Pick<ClientLimiter, "snapshot"> {
  /** @throws AppError `rate_limited` */
  take(address: string, nowMs: number): void;
}

export function createPublicRate(limits: ClientLimits = LIMITS.publicRate): AddressRate {
  const clients = createClientLimiter(
    limits,
    "Too many requests without a credential come from this network address.",
  );
  return {
    take(address, nowMs) {
      const refusal = clients.refusal(address, nowMs);
      if (refusal !== null) throw refusal;
      clients.charge(address, 1, nowMs);
    },
    snapshot: clients.snapshot,
  };
}
