import ipaddr from "ipaddr.js";

/**
 * True when `address` (an IPv4 or IPv6 literal) is a public unicast address: not private, loopback, link-local,
 * unspecified, shared, multicast, documentation or reserved, nor any of these inside an IPv6 form (mapped, 6to4,
 * NAT64, Teredo). Source: the IANA special-purpose address registries, as `ipaddr.js` carries them.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return parsed.range() === "unicast";
}
