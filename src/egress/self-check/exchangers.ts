import { isIP } from "node:net";
import type { networkInterfaces } from "node:os";
import { LIMITS } from "../../config/limits/limits.ts";
import type { DnsOutcome, FullResolver } from "../../dns/resolver.ts";
import { mayDial } from "../../platform/public-address.ts";
import type { EgressRoute } from "../../smtp/wire/egress-routes.ts";
import { siteOf } from "../../verification/lists/site.ts";

/** Domains whose mail exchangers are always up and answer every client: if all are silent, the reason is on our side. */
const WELL_KNOWN = ["gmail.com", "outlook.com", "yahoo.com", "icloud.com"] as const;

/** A mail exchanger that is known to be there. */
export interface KnownExchanger {
  site: string;
  host: string;
  /** IPv4 and IPv6 literals from DNS, at most LIMITS.smtp.addressesTriedPerHost of either family. */
  addresses: string[];
}

const recordsOf = (outcome: DnsOutcome<string>) =>
  outcome.status === "ok" ? outcome.records.slice(0, LIMITS.smtp.addressesTriedPerHost) : [];

/** One for each of the big providers whose names can be resolved. @param allowPrivate as PROBE_PRIVATE_ADDRESSES */
export async function knownExchangers(
  resolver: FullResolver,
  allowPrivate: boolean,
): Promise<KnownExchanger[]> {
  const found = await Promise.all(WELL_KNOWN.map((domain) => exchangerOf(resolver, domain, allowPrivate)));
  return found.filter((exchanger) => exchanger !== null);
}

async function exchangerOf(
  resolver: FullResolver,
  domain: string,
  allowPrivate: boolean,
): Promise<KnownExchanger | null> {
  const mx = await resolver.mx(domain);
  if (mx.status !== "ok") return null;
  const [best] = mx.records
    .filter(({ exchange }) => exchange !== "")
    .sort((a, b) => a.preference - b.preference);
  if (best === undefined) return null;
  const host = best.exchange;
  const [v4, v6] = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
  const addresses = [...recordsOf(v4), ...recordsOf(v6)].filter((address) => mayDial(address, allowPrivate));
  return addresses.length === 0 ? null : { site: siteOf([host], domain).site, host, addresses };
}

/** IP version of connections that neither a source address nor a proxy decides. */
export type AddressFamily = 4 | 6;

/** 6 on a host that has addresses of the internet's IPv6 and none of IPv4 but loopback. */
export function outboundFamilyOf(interfaces: ReturnType<typeof networkInterfaces>): AddressFamily {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const outward = all.filter(({ internal }) => !internal);
  const hasGlobal6 = outward.some(({ address }) => isIP(address) === 6 && !/^fe80:/i.test(address));
  return hasGlobal6 && !outward.some(({ address }) => isIP(address) === 4) ? 6 : 4;
}

/**
 * The address of `exchanger` that `path` can reach: in the IP version of its source address, IPv4 through a proxy, else in
 * the host's. null: there is none.
 */
export function dialAddressFor(
  { localAddress, proxy }: Pick<EgressRoute, "localAddress" | "proxy">,
  { addresses }: KnownExchanger,
  own: AddressFamily,
): string | null {
  const family = isIP(localAddress ?? "") || (proxy === null ? own : 4);
  return addresses.find((address) => isIP(address) === family) ?? null;
}
