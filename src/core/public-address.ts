import ipaddr from "ipaddr.js";

/** All of IPv6 that is given to hosts (RFC 4291 §2.4, IANA). Outside it are old forms of IPv4 such as `::10.0.0.1`. */
const IPV6_GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * True when `address` (an IPv4 or IPv6 literal) is a public unicast address: not private, loopback, link-local,
 * unspecified, shared, multicast, documentation or reserved, nor any of these inside an IPv6 form (mapped, compatible,
 * 6to4, NAT64, Teredo). Source: the IANA special-purpose address registries, as `ipaddr.js` carries them.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return parsed.range() === "unicast" && (parsed instanceof ipaddr.IPv4 || parsed.match(IPV6_GLOBAL));
}
