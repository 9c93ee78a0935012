import ipaddr from "ipaddr.js";

/** Networks that are not the public Internet, as NetworkPolicies have to name them. */
export const SPECIAL_NETWORKS: readonly string[] = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"],
  ...["::/8", "64:ff9b::/96", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
  ...["fc00::/7", "fe80::/10", "ff00::/8"],
];

/** Whether `outer` has all of `inner`. @throws Error for what is no network */
export function contains(outer: string, inner: string): boolean {
  const [outerAddress, outerBits] = ipaddr.parseCIDR(outer);
  const [innerAddress, innerBits] = ipaddr.parseCIDR(inner);
  return (
    outerAddress.kind() === innerAddress.kind() &&
    innerBits >= outerBits &&
    innerAddress.match(outerAddress, outerBits)
  );
}

/** Two networks either have nothing in common, or one has the other. */
export function overlap(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one);
}

/** Special networks that a block lets through. */
export function specialIn({ cidr, except = [] }: { cidr: string; except?: string[] }): string[] {
  return SPECIAL_NETWORKS.filter(
    (special) =>
      overlap(cidr, special) && !except.some((hole) => contains(hole, special) || contains(hole, cidr)),
  );
}

/** Whether a block lies within one special network: somebody's own, named on purpose. */
export function isOwnNetwork(cidr: string): boolean {
  return SPECIAL_NETWORKS.some((special) => contains(special, cidr));
}

/** Everything that is public, as far as a policy has to name it. */
const PUBLIC: Readonly<Record<string, string>> = { "0.0.0.0/0": "public IPv4", "2000::/3": "public IPv6" };

/** `public IPv4` or `public IPv6` for all of it, whatever special networks are left out; null: not all, or less or more. */
export function publicName({ cidr, except = [] }: { cidr: string; except?: string[] }): string | null {
  return except.every(isOwnNetwork) ? (PUBLIC[cidr] ?? null) : null;
}

/** Why Kubernetes would refuse a block; null: it would not. */
export function whyNoBlock({ cidr, except = [] }: { cidr: string; except?: string[] }): string | null {
  const wrong = [cidr, ...except].find((one) => !ipaddr.isValidCIDR(one) || !/\.\d+\.\d+\.|:/.test(one));
  if (wrong !== undefined) return `${wrong} is no network`;
  const outside = except.find((one) => !contains(cidr, one) || contains(one, cidr));
  return outside === undefined ? null : `${outside} is not within ${cidr}`;
}
