import { beginPreflight, canBind, type PreflightRun } from "../check/house/preflight.ts";
import { loadShaping, type OwnShaping } from "../check/shaping.ts";
import type { Clock } from "../core/clock.ts";
import type { PreflightConfig } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import { createResolver } from "../dns/client.ts";
import { type Greeting, greet } from "../smtp/greet.ts";
import { parseHeloName } from "../smtp/mailbox.ts";
import { createPaths, type Path } from "../smtp/path.ts";

export interface Preflight {
  /** The ways that probes may take. */
  ways: readonly Path[];
  begin(): Promise<PreflightRun>;
  close(): Promise<void>;
}

/** Preflight on the network, with a resolver of its own that keeps nothing. */
export function composePreflight(config: PreflightConfig, own: OwnShaping, clock: Clock): Preflight {
  const { smtp, dns, house } = config;
  const resolver = createResolver({ servers: dns.servers, clock });
  return {
    ways: createPaths(smtp, loadShaping(own).ways).inUse,
    begin: () =>
      beginPreflight({
        clock,
        resolver,
        canBind,
        dnsblZones: house.dnsblZones,
        heloGiven: (path) => smtp.heloNameGiven || path.heloName !== smtp.heloName,
        mailFrom: smtp.mailFrom,
        probePrivateAddresses: smtp.probePrivateAddresses,
        greet: (path, host, address) => greetBy(path, { host, address, port: smtp.port }, clock),
      }),
    close: () => resolver.close(),
  };
}

function greetBy(
  { localAddress, proxy, heloName: name }: Path,
  server: { host: string; address: string; port: number },
  clock: Clock,
): Promise<Greeting> {
  const heloName = parseHeloName(name);
  if (heloName === null) throw new Error("the HELO name of a way may not be sent");
  const target = { ...server, localAddress, proxy };
  return greet({ target, heloName, clock, withinMs: LIMITS.house.greetMs });
}
