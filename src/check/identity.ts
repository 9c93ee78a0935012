import { isIP } from "node:net";
import type { SmtpConfig } from "../core/config.ts";
import type { Path, Paths } from "../smtp/path.ts";
import type { SelfIdentity } from "./classify/classify.ts";

/** What we are called, by way out: a server quotes the name and the address of the way that a probe took. */
export interface Identities {
  /** The deployment's HELO name. */
  heloName: string;
  /** @param path name of a way; "" for a probe that never set out */
  at(path: string): SelfIdentity;
}

/** A proxy that is given by address is commonly seen by that address. */
function addressesOf({ localAddress, proxy }: Path): string[] {
  const address = localAddress ?? proxy?.host ?? "";
  return isIP(address) === 0 ? [] : [address];
}

/**
 * @param seenAs what mail servers take for our address on a way, where that has been found out: behind NAT it is none of
 *   ours
 */
export function createIdentities(
  { heloName, mailFrom }: Pick<SmtpConfig, "heloName" | "mailFrom">,
  { all }: Pick<Paths, "all">,
  seenAs: (path: string) => string | null,
): Identities {
  const sender = mailFrom === "" ? {} : { mailFrom };
  const known = new Map<string, SelfIdentity>(
    all.map((path) => [path.name, { heloName: path.heloName, addresses: addressesOf(path), ...sender }]),
  );
  const nowhere: SelfIdentity = { heloName, addresses: [], ...sender };
  return {
    heloName,
    at(path) {
      const self = known.get(path) ?? nowhere;
      const seen = seenAs(path);
      if (seen === null || self.addresses.includes(seen)) return self;
      return { ...self, addresses: [...self.addresses, seen] };
    },
  };
}
