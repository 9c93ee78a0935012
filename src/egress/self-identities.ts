import { isIP } from "node:net";
import type { SmtpConfig } from "../config/config.ts";
import type { EgressRoute, EgressRoutes } from "../smtp/wire/egress-routes.ts";
import type { SelfIdentity } from "../verification/classify/classify.ts";

/** Our names and addresses, by egress route: a server quotes those of the probe's route. */
export interface SelfIdentities {
  /** The deployment's HELO name. */
  heloName: string;
  /** @param path name of a route; "" for a probe that was never sent */
  at(path: string): SelfIdentity;
}

/** A proxy that is configured by address is commonly seen by that address. */
function addressesOf({ localAddress, proxy }: EgressRoute): string[] {
  const address = localAddress ?? proxy?.host ?? "";
  return isIP(address) === 0 ? [] : [address];
}

/** @param seenAs the address that mail servers see over a route, if known: behind NAT it differs from ours */
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
  /** Identities with the seen address, by route. The same object each time: caches of replies compare it. */
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
