import { networkInterfaces } from "node:os";
import type { PreflightConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { createResolver } from "../../dns/client.ts";
import { type AddressFamily, outboundFamilyOf } from "../../egress/self-check/exchangers.ts";
import { loadShaping, type OperatorShaping } from "../../egress/shaping.ts";
import { canBind, type PreflightRun, startPreflight } from "../../engine/preflight.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { type Greeting, probeGreeting } from "../../smtp/session/greet.ts";
import { createEgressRoutes, type EgressRoute } from "../../smtp/wire/egress-routes.ts";
import { parseHeloName } from "../../smtp/wire/mailbox.ts";

export interface Preflight {
  /** The configured egress routes. */
  routes: readonly EgressRoute[];
  /** IP version of connections over a route that does not decide it. */
  family: AddressFamily;
  /** All settings that affect the result of a look, as text. */
  settings: string;
  startRun(): Promise<PreflightRun>;
  close(): Promise<void>;
}

/** Preflight on the network, with a resolver of its own that keeps nothing. */
export function composePreflight(config: PreflightConfig, own: OperatorShaping, clock: Clock): Preflight {
  const { smtp, dns, selfCheck } = config;
  const resolver = createResolver({ servers: dns.servers, clock });
  const ways = createEgressRoutes(smtp, loadShaping(own).routes).inUse;
  const family = outboundFamilyOf(networkInterfaces());
  const heloGiven = (path: EgressRoute) => smtp.heloNameGiven || path.heloName !== smtp.heloName;
  const named = ways.map((path) => [path.name, path.heloName, heloGiven(path)]);
  const { port, mailFrom, probePrivateAddresses } = smtp;
  return {
    routes: ways,
    family,
    settings: JSON.stringify([
      named,
      family,
      port,
      mailFrom,
      probePrivateAddresses,
      selfCheck.dnsblZones,
      dns,
    ]),
    startRun: () =>
      startPreflight({
        clock,
        resolver,
        canBind,
        dnsblZones: selfCheck.dnsblZones,
        isHeloConfigured: heloGiven,
        family,
        mailFrom,
        probePrivateAddresses,
        greet: (path, host, address) => greetThrough(path, { host, address, port }, clock),
      }),
    close: () => resolver.close(),
  };
}

function greetThrough(
  { localAddress, proxy, heloName: name }: EgressRoute,
  server: { host: string; address: string; port: number },
  clock: Clock,
): Promise<Greeting> {
  const heloName = parseHeloName(name);
  if (heloName === null) throw new Error("invalid HELO name of an egress route");
  const target = { ...server, localAddress, proxy };
  return probeGreeting({ target, heloName, clock, withinMs: LIMITS.selfCheck.greetMs });
}
