import { isIP } from "node:net";
import type { ProxyConfig, SmtpConfig } from "../core/config.ts";

/** A way out: what a mail server takes for our address. Caps, breakers and greylisting go by it. */
export interface Path {
  /** Stable, without secrets: the source address; `proxy:host:port`; `direct` where the system chooses an address. */
  name: string;
  /** Source address; null lets the system, or the proxy, choose. */
  localAddress: string | null;
  /** The SOCKS5 proxy it leads through; null: none. */
  proxy: ProxyConfig | null;
  /** What we call ourselves there: the name that the address of this way has in DNS. */
  heloName: string;
}

/** Which ways the shaping allows, by name. */
export interface WayChoice {
  /** For all sites that have none of their own; null: all there are. */
  readonly standard: readonly string[] | null;
  /** A site's own, at least one; null: the standard ones. The same array each time. */
  of(site: string): readonly string[] | null;
  /** All that it names. */
  readonly named: readonly string[];
}

export interface Paths {
  /** Every way there is. */
  readonly all: readonly Path[];
  /** Those that some site may take: a way that the choice leaves out for everybody is none. */
  readonly inUse: readonly Path[];
  /**
   * The way to a host. A pure function of its arguments and the configuration, so that greylisting and the site's
   * opinion of us meet the same address again: one way for a site; where a site has several of its own, one for each
   * recipient. Adding a way to n others moves one in n + 1.
   * @param address IPv4 or IPv6 literal of the host
   * @param recipient normalised address; "" where no recipient is meant
   * @returns undefined: no source address of this family
   */
  to(site: string, address: string, recipient?: string): Path | undefined;
  /** What the connections by this way count against: the site; the site on this way, where it has several of its own. */
  capOf(site: string, path: Path): string;
  /** How many caps the site has. */
  capsOf(site: string): number;
}

const ANY_WAY: WayChoice = { standard: null, of: () => null, named: [] };

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** MurmurHash3's last step: each bit of the input changes half of the output's. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

interface Way {
  path: Path;
  /** IP version of the addresses it can reach; 0: both. */
  family: number;
  hash: number;
}

const wayOf = (path: Path): Way => ({
  path,
  family: isIP(path.localAddress ?? ""),
  hash: mixed(hashOf(path.name)),
});

/** Rendezvous hashing: every way draws a lot for the key, the highest wins. */
function drawn(ways: readonly Way[], address: string, key: string): Path | undefined {
  const family = isIP(address);
  const keyHash = hashOf(key);
  let best = -1;
  let winner: Path | undefined;
  for (const way of ways) {
    if (way.family !== 0 && way.family !== family) continue;
    const lot = mixed(keyHash ^ way.hash);
    if (lot <= best) continue;
    best = lot;
    winner = way.path;
  }
  return winner;
}

/** `proxy:host:port`, an IPv6 host in brackets. */
export function proxyName({ host, port }: Pick<ProxyConfig, "host" | "port">): string {
  return `proxy:${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The ways that the settings make, `direct` last. */
function waysOf(config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">): Path[] {
  return [
    ...config.sourceAddresses.map(({ address, heloName }) => ({
      name: address,
      localAddress: address,
      proxy: null,
      heloName,
    })),
    ...config.proxies.map((proxy) => ({
      name: proxyName(proxy),
      localAddress: null,
      proxy,
      heloName: proxy.heloName,
    })),
    { name: "direct", localAddress: null, proxy: null, heloName: config.heloName },
  ];
}

/** Names that shaping may use with these settings. */
export function wayNames(
  config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">,
): ReadonlySet<string> {
  return new Set(waysOf(config).map(({ name }) => name));
}

/** @throws when `choice` names a way that the settings do not make */
export function createPaths(
  config: Pick<SmtpConfig, "heloName" | "sourceAddresses" | "proxies">,
  choice: WayChoice = ANY_WAY,
): Paths {
  const known = waysOf(config).map(wayOf);
  const named = (names: readonly string[]) =>
    names.map((name) => {
      const way = known.find(({ path }) => path.name === name);
      if (way === undefined) throw new Error("a way is named that the settings do not make");
      return way;
    });
  // The system's own choice of an address is a way only where no other is configured, or where it is asked for.
  const given = known.length > 1 ? known.slice(0, -1) : known;
  const all = new Set([...given, ...named(choice.named)]);
  const standard = choice.standard === null ? given : named(choice.standard);
  const used = new Set([...standard, ...named(choice.named)]);
  const own = new Map<readonly string[], Way[]>();
  function ownWays(site: string): readonly Way[] | null {
    const names = choice.of(site);
    if (names === null) return null;
    const ways = own.get(names) ?? named(names);
    own.set(names, ways);
    return ways;
  }
  const capsOf = (site: string) => choice.of(site)?.length ?? 1;
  return {
    all: [...all].map(({ path }) => path),
    inUse: [...all].filter((way) => used.has(way)).map(({ path }) => path),
    to(site, address, recipient = "") {
      const ways = ownWays(site);
      return drawn(ways ?? standard, address, ways !== null && ways.length > 1 ? recipient : site);
    },
    capOf: (site, path) => (capsOf(site) > 1 ? `${site} ${path.name}` : site),
    capsOf,
  };
}
