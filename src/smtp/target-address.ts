import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { isPublicAddress } from "../core/public-address.ts";

/** No single host: refused also where private addresses are allowed (tests, demo, an intranet). */
const NO_HOST: ReadonlySet<string> = new Set(["unspecified", "broadcast", "multicast"]);

/** Whether a connection to `address` may be opened at all. An MX record can name any address, also ours. */
export function mayDial(address: string, allowPrivate: boolean): boolean {
  if (isIP(address) === 0) return false;
  return isPublicAddress(address) || (allowPrivate && !NO_HOST.has(ipaddr.process(address).range()));
}

/**
 * The source address for a site: always the same one, so that greylisting and a site's opinion of us stay with it.
 * @returns null: let the system choose (none configured); undefined: none of the family of `address`.
 */
export function sourceFor(
  site: string,
  address: string,
  sources: readonly string[],
): string | null | undefined {
  if (sources.length === 0) return null;
  const fitting = sources.filter((source) => isIP(source) === isIP(address));
  let hash = 0x811c9dc5;
  for (let i = 0; i < site.length; i++) hash = Math.imul(hash ^ site.charCodeAt(i), 0x01000193);
  return fitting[(hash >>> 0) % fitting.length];
}
