import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import type { Zone } from "../../test/support/mail-world/zone.ts";
import { createBareSink, type BareSink as Sink } from "../bare-sink.ts";
import { answerParent } from "../child.ts";
import { DOMAINS, domainName, mxAddress, mxName, SITES, siteOfDomain } from "../plan.ts";
import { accountOf, listenOnOnePort, resetAccounts } from "../sinks.ts";

const QUIET_WITHIN_MS = 30_000;

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

const verbs = {
  /** @param others domains beside those of the runs */
  async start({ latencyMs, runs, others = [] }: { latencyMs: number; runs: number[]; others?: string[] }) {
    dns = await createDnsServer(zoneOf(runs, others));
    const addresses = Array.from({ length: SITES }, (_, site) => mxAddress(site));
    sinks = await listenOnOnePort(addresses, (at) => createBareSink({ ...at, latencyMs }));
    return { dnsServer: dns.address, smtpPort: sinks[0]?.port ?? 0 };
  },

  /** Resolves when no connection is open any more; counts begin anew. */
  async quiet() {
    const deadline = performance.now() + QUIET_WITHIN_MS;
    while (sinks.some(({ account }) => account.open > 0)) {
      if (performance.now() > deadline) throw new Error("connections stay open after a run");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    resetAccounts(sinks);
  },

  /** Since `quiet`. */
  account: () => accountOf(sinks),
};

export type MailServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});
