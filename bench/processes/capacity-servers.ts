import { exists, type SiteList, siteAddress, zoneOf } from "../../scripts/capacity/measure/site-list.ts";
import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { createSink, type Sink } from "../../test/support/mail-world/sink.ts";
import { answerParent } from "../child.ts";
import { accountOf, listenOnOnePort, resetAccounts } from "../sinks.ts";

let dns: DnsServer | null = null;
let sinks: Sink[] = [];

const verbs = {
  /** @param latencyMs from a read to its answer, the round trip of a distant server */
  async start({ lists, latencyMs }: { lists: SiteList[]; latencyMs: number }) {
    dns = await createDnsServer(zoneOf(lists));
    const sites = Math.max(...lists.map(({ site }) => site.sites));
    const addresses = Array.from({ length: sites }, (_, site) => siteAddress(site));
    sinks = await listenOnOnePort(addresses, (at) => createSink({ ...at, latencyMs, accepts: exists }));
    return { dnsServer: dns.address, smtpPort: sinks[0]?.port ?? 0 };
  },

  /** Counts begin anew. */
  reset: () => resetAccounts(sinks),

  /** Since `reset`. */
  account: () => accountOf(sinks),
};

export type CapacityServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});
