import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { answerParent } from "../child.ts";
import { SITES, scalingZone, siteAddress } from "../scaling-plan.ts";
import { accountOf, type SinkDelays, type Sinks } from "../sink-account.ts";
import { openSinks } from "../sinks.ts";

let dns: DnsServer | null = null;
let sinks: Sinks | null = null;

function running(): Sinks {
  if (sinks === null) throw new Error("not started");
  return sinks;
}

const verbs = {
  async start() {
    dns = await createDnsServer(scalingZone());
    const addresses = Array.from({ length: SITES }, (_, site) => siteAddress(site));
    sinks = await openSinks(addresses, { latencyMs: 0, recipientMs: 0 });
    return { dnsServer: dns.address, smtpPort: sinks.port, sinksRunOn: sinks.runtime };
  },

  /** Without any until this is called. */
  delay: (delays: SinkDelays) => running().delay(delays),

  /** Counts begin anew. */
  reset: () => running().reset(),

  /** Since `reset`. */
  account: async () => accountOf(await running().accounts()),
};

export type ScalingServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await sinks?.close();
});
