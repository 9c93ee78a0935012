import { isIP } from "node:net";
import type { SmtpConfig } from "../config/config.ts";
import type { EgressRoute, EgressRoutes } from "../smtp/wire/egress-routes.ts";
import type { SelfIdentity } from "../verification/classify/classify.ts";

/** What we are called, by way out: a server quotes the name and the address of the way that a probe took. */
export interface SelfIdentities {
  /** The deployment's HELO name. */
  heloName: string;
  /** @param path name of a way; "" for a probe that never set out */
  at(path: string): SelfIdentity;
}

/** A proxy that is given by address is commonly seen by that address. */
function addressesOf({ localAddress, proxy }: EgressRoute): string[] {
  const address = localAddress ?? proxy?.host ?? "";
  return isIP(address) === 0 ? [] : [address];
}

/**
 * @param seenAs what mail servers take for our address on a way, where that has been found out: behind NAT it is none of
 *   ours
 */
export function createSelfIdentities(
  { heloName, mailFrom }: Pick<SmtpConfig, "heloName" | "mailFrom">,
  { all }: Pick<EgressRoutes, "all">,
  seenAs: (path: string) => string | null,
): SelfIdentities {
  const sender = mailFrom === "" ? {} : { mailFrom };
  const known = new Map<string, SelfIdentity>(
    all.map((path) => [path.name, { heloName: path.heloName, addresses: addressesOf(path), ...sender }]),
  );
  const nowhere: SelfIdentity = { heloName, addresses: [], ...sender };
  /** With the address that was found out, by way: the same object each time, as what is remembered of replies goes by it. */
  const found = new Map<string, { seen: string; self: SelfIdentity }>();
  return {
    heloName,
    at(path) {
      const self = known.get(path) ?? nowhere;
      const seen = seenAs(path);
      if (seen === null || self.addresses.includes(seen)) return self;
      const last = found.get(path);
      if (last?.seen === seen) return last.self;
      const whole = { ...self, addresses: [...self.addresses, seen] };
      found.set(path, { seen, self: whole });
      return whole;
    },
  };
}
