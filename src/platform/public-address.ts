import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** All IPv6 space assigned to hosts (RFC 4291 §2.4, IANA). Outside it are old forms of IPv4 such as `::10.0.0.1`. */
const IPV6_GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");

/** In no registry, yet not public: a virtual machine of Azure reaches the platform's own services by it. */
const FABRIC = "168.63.129.16";

/**
 * True when `address` (an IPv4 or IPv6 literal) is a public unicast address: not private, loopback, link-local,
 * unspecified, shared, multicast, documentation or reserved, nor any of these inside an IPv6 form (mapped, compatible,
 * 6to4, NAT64, Teredo). Source: the IANA special-purpose address registries, as `ipaddr.js` has them, and one more.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.toString() === FABRIC) return false;
  return parsed.range() === "unicast" && (parsed instanceof ipaddr.IPv4 || parsed.match(IPV6_GLOBAL));
}

/** Ranges without a single host: refused even when private addresses are allowed (tests, demo, an intranet). */
const NO_HOST: ReadonlySet<string> = new Set(["unspecified", "broadcast", "multicast"]);

/** Whether a connection to `address` may be opened at all. Untrusted DNS records can name any address, ours included. */
export function mayDial(address: string, allowPrivate: boolean): boolean {
  if (isIP(address) === 0) return false;
  return isPublicAddress(address) || (allowPrivate && !NO_HOST.has(ipaddr.process(address).range()));
}
