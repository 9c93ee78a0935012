import ipaddr from "ipaddr.js";

/**
 * The labels under which a zone knows an address: octets of IPv4, nibbles of IPv6, the last one first
 * (RFC 1035 §3.5, RFC 3596 §2.5, RFC 5782 §2). An IPv4-mapped IPv6 address is its IPv4 address.
 * @param address IPv4 or IPv6 literal
 */
export function reverseLabels(address: string): string {
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.octets.toReversed().join(".");
  const nibbles = parsed.toByteArray().flatMap((byte) => [byte >> 4, byte & 15]);
  return nibbles
    .toReversed()
    .map((nibble) => nibble.toString(16))
    .join(".");
}

/** The name that PTR records of `address` are asked at. */
export function ptrNameOf(address: string): string {
  const parsed = ipaddr.process(address);
  return `${reverseLabels(address)}.${parsed.kind() === "ipv4" ? "in-addr" : "ip6"}.arpa`;
}

/** Two literals of one address. */
export function isSameAddress(a: string, b: string): boolean {
  return ipaddr.process(a).toNormalizedString() === ipaddr.process(b).toNormalizedString();
}
