import { beginPreflight, canBind, type PreflightRun } from "../check/house/preflight.ts";
import type { OwnShaping } from "../check/shaping.ts";
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
    ways: waysInUse(createPaths(smtp).all, own),
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

/** The system's own choice of an address is a way only where there is no other, or where shaping asks for it. */
function waysInUse(all: readonly Path[], { default: standard, providers, sites }: OwnShaping): Path[] {
  const others = all.filter(({ name }) => name !== "direct");
  const named = [standard, ...Object.values(providers), ...Object.values(sites)].flatMap(
    ({ ways }) => ways ?? [],
  );
  const used = new Set(standard.ways ?? (others.length > 0 ? others : all).map(({ name }) => name));
  for (const name of named) used.add(name);
  return all.filter(({ name }) => used.has(name));
}
