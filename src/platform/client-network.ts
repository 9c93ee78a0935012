import ipaddr from "ipaddr.js";

function prefixOf(address: ipaddr.IPv6, bits: number): string {
  const groups = address.parts.slice(0, bits / 16);
  return `${groups.map((group) => group.toString(16)).join(":")}::/${bits}`;
}

/**
 * The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since a single client has all of
 * it.
 */
export function clientNetwork(address: string): string {
  return ipaddr.IPv6.isValid(address) ? prefixOf(ipaddr.IPv6.parse(address), 64) : address;
}

/** The same, but a whole IPv6 site: for what is given out by turns, of which a site's networks could have too many. */
export function clientShare(address: string): string {
  return clientSite(address) ?? clientNetwork(address);
}

/** The site (/48) of an IPv6 address, which has 65,536 networks of clients; null: of an IPv4 address. */
export function clientSite(address: string): string | null {
  return ipaddr.IPv6.isValid(address) ? prefixOf(ipaddr.IPv6.parse(address), 48) : null;
}
