import { isIP } from "node:net";
import type { ProxyConfig, SmtpConfig } from "../../config/config.ts";

/** An egress route: the address that a mail server sees as ours. Caps, breakers and greylisting are counted by route. */
export interface EgressRoute {
  /** Stable and free of secrets: the source address; `proxy:host:port`; `direct` where the system chooses an address. */
  name: string;
  /** Source address; null lets the system, or the proxy, choose. */
  localAddress: string | null;
  /** The SOCKS5 proxy that the route uses; null: none. */
  proxy: ProxyConfig | null;
  /** Our HELO name on this route: the name that its address has in DNS. */
  heloName: string;
}

/** The egress routes that the shaping allows, by name. */
export interface RouteSelection {
  /** Routes of all sites without their own; null: every configured route. */
  readonly defaults: readonly string[] | null;
  /** The site's own routes, at least one; null: the defaults. Returns the same array each time. */
  forSite(site: string): readonly string[] | null;
  /** Every route that the shaping names. */
  readonly allNamed: readonly string[];
}

export interface EgressRoutes {
  /** Every configured route. */
  readonly all: readonly EgressRoute[];
  /** The routes that some site may use: a route that the selection excludes for every site is left out. */
  readonly inUse: readonly EgressRoute[];
  /**
   * The egress route to a host. A pure function of its arguments and the configuration, so that greylisting and the site's
   * reputation data see the same address again. A site has one route; if it has several of its own, each recipient has one.
   * Adding a route to n others moves one destination in n + 1.
   * @param address IPv4 or IPv6 literal of the host
   * @param recipient normalised address; "" without a recipient
   * @returns undefined: no source address of this IP version
   */
  routeTo(site: string, address: string, recipient?: string): EgressRoute | undefined;
  /**
   * The cap that connections by this route count against: the site's; one for each route where the site has several of its
   * own.
   */
  capOf(site: string, route: EgressRoute): string;
  /** The number of caps of the site. */
  capCountOf(site: string): number;
}

const ANY_ROUTE: RouteSelection = { defaults: null, forSite: () => null, allNamed: [] };

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** MurmurHash3 finalizer: each input bit flips about half of the output bits. */
function mixBits(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

interface RouteCandidate {
  route: EgressRoute;
  /** IP version of the addresses that the route can reach; 0: both. */
  family: number;
  hash: number;
}

const toCandidate = (route: EgressRoute): RouteCandidate => ({
  route,
  family: isIP(route.localAddress ?? ""),
  hash: mixBits(hashOf(route.name)),
});

/** Rendezvous hashing: every route is scored for the key, the highest score wins. */
function drawRoute(
  candidates: readonly RouteCandidate[],
  address: string,
  key: string,
): EgressRoute | undefined {
  const family = isIP(address);
  const keyHash = hashOf(key);
  let best = -1;
  let winner: EgressRoute | undefined;
  for (const candidate of candidates) {
    if (candidate.family !== 0 && candidate.family !== family) continue;
    const lot = mixBits(keyHash ^ candidate.hash);
    if (lot <= best) continue;
    best = lot;
    winner = candidate.route;
  }
  return winner;
}

/** `proxy:host:port`; an IPv6 host is in brackets. */
export function proxyRouteName({ host, port }: Pick<ProxyConfig, "host" | "port">): string {
  return `proxy:${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The routes that the settings configure, `direct` last. */
function configuredRoutes(
  config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">,
): EgressRoute[] {
  return [
    ...config.sourceAddresses.map(({ address, heloName }) => ({
      name: address,
      localAddress: address,
      proxy: null,
      heloName,
    })),
    ...config.proxies.map((proxy) => ({
      name: proxyRouteName(proxy),
      localAddress: null,
      proxy,
      heloName: proxy.heloName,
    })),
    { name: "direct", localAddress: null, proxy: null, heloName: config.heloName },
  ];
}

/** Route names that shaping may use with these settings. */
export function configuredRouteNames(
  config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">,
): ReadonlySet<string> {
  return new Set(configuredRoutes(config).map(({ name }) => name));
}

/** @throws when `selection` names a route that the settings do not configure */
export function createEgressRoutes(
  config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">,
  selection: RouteSelection = ANY_ROUTE,
): EgressRoutes {
  const configured = configuredRoutes(config).map(toCandidate);
  const findRoutes = (names: readonly string[]) =>
    names.map((name) => {
      const route = configured.find(({ route: path }) => path.name === name);
      if (route === undefined) throw new Error("shaping names an egress route that is not configured");
      return route;
    });
  // `direct` is a route only where no other is configured, or where the shaping names it.
  const usable = configured.length > 1 ? configured.slice(0, -1) : configured;
  const all = new Set([...usable, ...findRoutes(selection.allNamed)]);
  const defaults = selection.defaults === null ? usable : findRoutes(selection.defaults);
  const used = new Set([...defaults, ...findRoutes(selection.allNamed)]);
  const routesByNames = new Map<readonly string[], RouteCandidate[]>();
  function siteRoutes(site: string): readonly RouteCandidate[] | null {
    const names = selection.forSite(site);
    if (names === null) return null;
    const routes = routesByNames.get(names) ?? findRoutes(names);
    routesByNames.set(names, routes);
    return routes;
  }
  const capCountOf = (site: string) => selection.forSite(site)?.length ?? 1;
  return {
    all: [...all].map(({ route: path }) => path),
    inUse: [...all].filter((route) => used.has(route)).map(({ route: path }) => path),
    routeTo(site, address, recipient = "") {
      const routes = siteRoutes(site);
      return drawRoute(routes ?? defaults, address, routes !== null && routes.length > 1 ? recipient : site);
    },
    capOf: (site, route) => (capCountOf(site) > 1 ? `${site} ${route.name}` : site),
    capCountOf,
  };
}
