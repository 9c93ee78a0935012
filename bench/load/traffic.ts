import type { AddressSource } from "./addresses.ts";
import type { Kind } from "./tally.ts";

/** Mix of single requests. Shares of all of them, 0 to 1. */
export interface Mix {
  /**
   * Share, among those without `refresh`, of addresses that this run asked about before, which the cache should have.
   */
  repeat: number;
  refresh: number;
  evidence: number;
}

export interface Traffic {
  next(): { kind: Kind; path: string };
}

/** @param random as Math.random @param basePath of a deployment behind a prefix, e.g. `/rcpt`; else empty */
export function createTraffic(
  mix: Mix,
  addresses: AddressSource,
  basePath: string,
  random: () => number,
): Traffic {
  const pathOf = (address: string, more: string) =>
    `${basePath}/v1/verify?email=${encodeURIComponent(address)}${more}`;
  return {
    next() {
      const draw = random();
      if (draw < mix.refresh) return { kind: "refresh", path: pathOf(addresses.hot(), "&refresh=true") };
      const isRepeat = random() < mix.repeat;
      const address = isRepeat ? addresses.hot() : addresses.fresh();
      if (draw < mix.refresh + mix.evidence)
        return { kind: "evidence", path: pathOf(address, "&evidence=true") };
      return { kind: isRepeat ? "repeated" : "new", path: pathOf(address, "") };
    },
  };
}
