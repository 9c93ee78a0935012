import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import type { Zone } from "../../test/support/mail-world/zone.ts";
import { answerParent } from "../child.ts";
import {
  DOMAINS,
  domainName,
  loneAddress,
  loneDomain,
  mxAddress,
  mxName,
  SITES,
  siteOfDomain,
} from "../plan.ts";
import { accountOf, type Sinks } from "../sink-account.ts";
import { openSinks } from "../sinks.ts";

const QUIET_WITHIN_MS = 30_000;

let dns: DnsServer | null = null;
/** Of the worlds one after the other, one a site. */
let sinks: Sinks | null = null;

function running(): Sinks {
  if (sinks === null) throw new Error("not started");
  return sinks;
}

const accountsIn = async (world: number) =>
  (await running().accounts()).slice(world * SITES, (world + 1) * SITES);

function zoneOf(
  runsOfWorlds: readonly (readonly number[])[],
  domains: number,
  others: readonly string[],
  lone: number,
): Zone {
  const zone: Zone = new Map();
  runsOfWorlds.forEach((runs, world) => {
    for (let site = 0; site < SITES; site++) zone.set(mxName(site, world), { a: [mxAddress(site, world)] });
    for (const run of runs) {
      for (let domain = 0; domain < domains; domain++)
        zone.set(domainName(run, domain), { mx: [[10, mxName(siteOfDomain(domain), world)]] });
    }
  });
  for (const domain of others) zone.set(domain, { mx: [[10, mxName(0)]] });
  for (let index = 0; index < lone; index++) {
    const exchanger = `mx.${loneDomain(index)}`;
    zone.set(loneDomain(index), { mx: [[10, exchanger]] });
    zone.set(exchanger, { a: [loneAddress(index)] });
  }
  return zone;
}

const verbs = {
  /**
   * @param runs those whose domains have their mail in world 0
   * @param further runs of further worlds, each with mail servers of its own
   * @param domains of each run
   * @param others domains beside those of the runs, in world 0
   * @param lone how many domains there are with an exchanger each, of all worlds the last
   */
  async start({
    latencyMs,
    runs,
    further = [],
    domains = DOMAINS,
    others = [],
    lone = 0,
  }: {
    latencyMs: number;
    runs: number[];
    further?: number[][];
    domains?: number;
    others?: string[];
    lone?: number;
  }) {
    const runsOfWorlds = [runs, ...further];
    dns = await createDnsServer(zoneOf(runsOfWorlds, domains, others, lone));
    const addresses = runsOfWorlds.flatMap((_, world) =>
      Array.from({ length: SITES }, (__, site) => mxAddress(site, world)),
    );
    for (let index = 0; index < lone; index++) addresses.push(loneAddress(index));
    sinks = await openSinks(addresses, { latencyMs, recipientMs: 0 });
    return { dnsServer: dns.address, smtpPort: sinks.port, sinksRunOn: sinks.runtime };
  },

  /** Resolves when no connection is open any more in that world; its counts begin anew. */
  async quiet(world = 0) {
    const deadline = performance.now() + QUIET_WITHIN_MS;
    while ((await accountsIn(world)).some(({ open }) => open > 0)) {
      if (performance.now() > deadline) throw new Error("connections stay open after a run");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await running().reset(world * SITES, SITES);
  },

  /** Since `quiet`. */
  account: async (world = 0) => accountOf(await accountsIn(world)),
};

export type MailServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await sinks?.close();
});
