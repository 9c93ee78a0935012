import { isIP } from "node:net";
import type { Resolver } from "../dns/resolver.ts";
import type { Breaker } from "../egress/breaker/mirror.ts";
import type { Destination, RoutedAddress } from "../smtp/pool/pool.ts";
import type { EgressRoute, EgressRoutes } from "../smtp/wire/egress-routes.ts";
import { interleaveFamilies, lookUpFamilyAddresses } from "./mx.ts";
import type { NetworkView } from "./network-view.ts";

export interface OtherAddressesDeps {
  resolver: Resolver;
  paths: EgressRoutes;
  breaker: Pick<Breaker, "isClearForSite">;
  network: Pick<NetworkView, "isCutOff">;
}

/**
 * Finds the addresses of a host to dial beside one that is slow to connect: those after it in the order of
 * `addressesInOrder`, each by the egress route of its IP version. A session's slot is of the site, or of its route if the
 * site has several: then only that route is used. Another route than the destination's own is used only while no breaker is
 * open or watched on it, for any domain of the site: the session serves them all. Never rejects.
 */
export function createOtherAddresses(deps: OtherAddressesDeps) {
  const { resolver, paths, breaker, network } = deps;

  function routeTo(address: string, { site, path: own }: Destination): EgressRoute | undefined {
    const path = paths.capCountOf(site) > 1 ? own : paths.routeTo(site, address);
    if (path === undefined || path.proxy !== null || network.isCutOff(path.name)) return undefined;
    const family = isIP(path.localAddress ?? "");
    if (family !== 0 && family !== isIP(address)) return undefined;
    return path.name === own.name || breaker.isClearForSite(site, path.name) ? path : undefined;
  }

  return async (destination: Destination): Promise<RoutedAddress[]> => {
    const { host, address: first } = destination;
    const lookUp = (family: "a" | "aaaa") => lookUpFamilyAddresses(resolver, host, family).catch(() => []);
    const all = interleaveFamilies(...(await Promise.all([lookUp("a"), lookUp("aaaa")])));
    // Those before it were tried already.
    const later = all.slice(all.indexOf(first) + 1);
    return later.flatMap((address) => {
      const path = routeTo(address, destination);
      return path === undefined ? [] : [{ address, path }];
    });
  };
}
