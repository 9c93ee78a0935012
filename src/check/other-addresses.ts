import { isIP } from "node:net";
import type { Resolver } from "../dns/resolver.ts";
import type { Path, Paths } from "../smtp/path.ts";
import type { Destination, RoutedAddress } from "../smtp/pool.ts";
import type { Breaker } from "./breaker/mirror.ts";
import { familyAddresses, interleaved } from "./mx.ts";
import type { NetworkView } from "./network-view.ts";

export interface OtherAddressesDeps {
  resolver: Resolver;
  paths: Paths;
  breaker: Pick<Breaker, "isCalmForAll">;
  network: Pick<NetworkView, "isCutOff">;
}

/**
 * Finds the addresses of a host that are dialled beside one that is slow to connect: those after it in the order of
 * `addressesInOrder`, each by the egress route to its family. A session's slot is of the site, or of its route where the site
 * has several of its own: then only that route is taken. Another route than the destination's own is taken only while no
 * breaker is open or watched on it, for any domain of the site: the session serves them all. Never rejects.
 */
export function createOtherAddresses(deps: OtherAddressesDeps) {
  const { resolver, paths, breaker, network } = deps;

  function routeTo(address: string, { site, path: own }: Destination): Path | undefined {
    const path = paths.capsOf(site) > 1 ? own : paths.to(site, address);
    if (path === undefined || path.proxy !== null || network.isCutOff(path.name)) return undefined;
    const family = isIP(path.localAddress ?? "");
    if (family !== 0 && family !== isIP(address)) return undefined;
    return path.name === own.name || breaker.isCalmForAll(site, path.name) ? path : undefined;
  }

  return async (destination: Destination): Promise<RoutedAddress[]> => {
    const { host, address: first } = destination;
    const lookUp = (family: "a" | "aaaa") => familyAddresses(resolver, host, family).catch(() => []);
    const all = interleaved(...(await Promise.all([lookUp("a"), lookUp("aaaa")])));
    // Those before it were tried already.
    const later = all.slice(all.indexOf(first) + 1);
    return later.flatMap((address) => {
      const path = routeTo(address, destination);
      return path === undefined ? [] : [{ address, path }];
    });
  };
}
