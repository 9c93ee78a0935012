import { type SiteList, siteAddress, zoneOf } from "../../scripts/capacity/measure/site-list.ts";
import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { answerParent } from "../child.ts";
import { accountOf, type Sinks } from "../sink-account.ts";
import { openSinks } from "../sinks.ts";

let dns: DnsServer | null = null;
let sinks: Sinks | null = null;

function running(): Sinks {
  if (sinks === null) throw new Error("not started");
  return sinks;
}

const verbs = {
  /** @param latencyMs from a read to its answer, the round trip of a distant server */
  async start({ lists, latencyMs }: { lists: SiteList[]; latencyMs: number }) {
    dns = await createDnsServer(zoneOf(lists));
    const sites = Math.max(...lists.map(({ site }) => site.sites));
    const addresses = Array.from({ length: sites }, (_, site) => siteAddress(site));
    sinks = await openSinks(addresses, { latencyMs, recipientMs: 0 });
    return { dnsServer: dns.address, smtpPort: sinks.port };
  },

  /** Counts begin anew. */
  reset: () => running().reset(),

  /** Since `reset`. */
  account: async () => accountOf(await running().accounts()),
};

export type CapacityServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await sinks?.close();
});
