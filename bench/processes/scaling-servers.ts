import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { createSink, type Sink } from "../../test/support/mail-world/sink.ts";
import { answerParent } from "../child.ts";
import { SITES, scalingZone, siteAddress } from "../scaling-plan.ts";
import { accountOf, listenOnOnePort, resetAccounts } from "../sinks.ts";

let dns: DnsServer | null = null;
let sinks: Sink[] = [];

const verbs = {
  async start() {
    dns = await createDnsServer(scalingZone());
    const addresses = Array.from({ length: SITES }, (_, site) => siteAddress(site));
    sinks = await listenOnOnePort(addresses, (at) => createSink(at));
    return { dnsServer: dns.address, smtpPort: sinks[0]?.port ?? 0 };
  },

  /** Without any until this is called. */
  delay(delays: Sink["delays"]): void {
    for (const sink of sinks) Object.assign(sink.delays, delays);
  },

  /** Counts begin anew. */
  reset: () => resetAccounts(sinks),

  /** Since `reset`. */
  account: () => accountOf(sinks),
};

export type ScalingServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});
