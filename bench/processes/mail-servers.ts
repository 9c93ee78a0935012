import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import type { Zone } from "../../test/support/mail-world/zone.ts";
import { createBareSink, type BareSink as Sink } from "../bare-sink.ts";
import { answerParent } from "../child.ts";
import { DOMAINS, domainName, mxAddress, mxName, SITES, siteOfDomain } from "../plan.ts";

const QUIET_WITHIN_MS = 30_000;
const PORT_ATTEMPTS = 10;

let dns: DnsServer | null = null;
let sinks: Sink[] = [];

function zoneOf(runs: readonly number[], others: readonly string[]): Zone {
  const zone: Zone = new Map();
  for (let site = 0; site < SITES; site++) zone.set(mxName(site), { a: [mxAddress(site)] });
  for (const run of runs) {
    for (let domain = 0; domain < DOMAINS; domain++)
      zone.set(domainName(run, domain), { mx: [[10, mxName(siteOfDomain(domain))]] });
  }
  for (const domain of others) zone.set(domain, { mx: [[10, mxName(0)]] });
  return zone;
}

/** One sink a site, all on one port: the setting SMTP_PORT is one. */
async function listenAll(latencyMs: number): Promise<Sink[]> {
  for (let attempt = 1; ; attempt++) {
    const open: Sink[] = [];
    try {
      for (let site = 0; site < SITES; site++)
        open.push(await createBareSink({ address: mxAddress(site), port: open[0]?.port ?? 0, latencyMs }));
      return open;
    } catch (error) {
      for (const sink of open) await sink.close();
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

const verbs = {
  /** @param others domains beside those of the runs */
  async start({ latencyMs, runs, others = [] }: { latencyMs: number; runs: number[]; others?: string[] }) {
    dns = await createDnsServer(zoneOf(runs, others));
    sinks = await listenAll(latencyMs);
    return { dnsServer: dns.address, smtpPort: sinks[0]?.port ?? 0 };
  },

  /** Resolves when no connection is open any more; counts begin anew. */
  async quiet() {
    const deadline = performance.now() + QUIET_WITHIN_MS;
    while (sinks.some(({ account }) => account.open > 0)) {
      if (performance.now() > deadline) throw new Error("connections stay open after a run");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const { account } of sinks) Object.assign(account, { connections: 0, maxOpen: 0, recipients: 0 });
  },

  /** Since `quiet`. */
  account() {
    const sum = (of: (sink: Sink) => number) => sinks.reduce((total, sink) => total + of(sink), 0);
    return {
      connections: sum(({ account }) => account.connections),
      recipients: sum(({ account }) => account.recipients),
      /** Most connections open at once at one site. */
      maxOpenPerSite: Math.max(...sinks.map(({ account }) => account.maxOpen)),
    };
  },
};

export type MailServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});
