import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { createSink, type Sink } from "../../test/support/mail-world/sink.ts";
import { answerParent } from "../child.ts";
import { SITES, scalingZone, siteAddress } from "../scaling-plan.ts";

const PORT_ATTEMPTS = 10;

let dns: DnsServer | null = null;
let sinks: Sink[] = [];

/** One server a site, all on one port: the setting SMTP_PORT is one. */
async function listenAll(latencyMs: number): Promise<Sink[]> {
  for (let attempt = 1; ; attempt++) {
    const open: Sink[] = [];
    try {
      for (let site = 0; site < SITES; site++)
        open.push(await createSink({ address: siteAddress(site), port: open[0]?.port ?? 0, latencyMs }));
      return open;
    } catch (error) {
      for (const sink of open) await sink.close();
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

const verbs = {
  async start({ latencyMs }: { latencyMs: number }) {
    dns = await createDnsServer(scalingZone());
    sinks = await listenAll(latencyMs);
    return { dnsServer: dns.address, smtpPort: sinks[0]?.port ?? 0 };
  },

  /** Counts begin anew. */
  reset() {
    for (const { account } of sinks)
      Object.assign(account, { connections: 0, maxOpen: account.open, recipients: 0 });
  },

  /** Since `reset`. */
  account() {
    const sum = (of: (sink: Sink) => number) => sinks.reduce((total, sink) => total + of(sink), 0);
    return {
      connections: sum(({ account }) => account.connections),
      recipients: sum(({ account }) => account.recipients),
      maxOpenPerSite: Math.max(...sinks.map(({ account }) => account.maxOpen)),
    };
  },
};

export type ScalingServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});
