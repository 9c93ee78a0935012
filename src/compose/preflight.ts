import { networkInterfaces } from "node:os";
import { type Family, familyOf } from "../check/house/exchangers.ts";
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
  /** How connections go out where a way does not say. */
  family: Family;
  /** All settings that decide what a look finds, as text. */
  settings: string;
  begin(): Promise<PreflightRun>;
  close(): Promise<void>;
}

/** Preflight on the network, with a resolver of its own that keeps nothing. */
export function composePreflight(config: PreflightConfig, own: OwnShaping, clock: Clock): Preflight {
  const { smtp, dns, house } = config;
  const resolver = createResolver({ servers: dns.servers, clock });
  const ways = createPaths(smtp, loadShaping(own).ways).inUse;
  const family = familyOf(networkInterfaces());
  const heloGiven = (path: Path) => smtp.heloNameGiven || path.heloName !== smtp.heloName;
  const named = ways.map((path) => [path.name, path.heloName, heloGiven(path)]);
  const { port, mailFrom, probePrivateAddresses } = smtp;
  return {
    ways,
    family,
    settings: JSON.stringify([named, family, port, mailFrom, probePrivateAddresses, house.dnsblZones, dns]),
    begin: () =>
      beginPreflight({
        clock,
        resolver,
        canBind,
        dnsblZones: house.dnsblZones,
        heloGiven,
        family,
        mailFrom,
        probePrivateAddresses,
        greet: (path, host, address) => greetBy(path, { host, address, port }, clock),
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
