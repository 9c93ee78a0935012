import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import type { Zone } from "../../test/support/mail-world/zone.ts";
import { answerParent } from "../setup/child.ts";
import { accountOf, type SinkDelays, type Sinks } from "../sinks/sink-account.ts";
import { openSinks } from "../sinks/sinks.ts";

const QUIET_WITHIN_MS = 30_000;

let dns: DnsServer | null = null;
let sinks: Sinks | null = null;

function running(): Sinks {
  if (sinks === null) throw new Error("not started");
  return sinks;
}

/** A part of the addresses: `count` from index `from` on. Absent: all of them. */
export interface Part {
  from: number;
  count: number;
}

async function accountsOf(part?: Part) {
  const all = await running().accounts();
  return part === undefined ? all : all.slice(part.from, part.from + part.count);
}

const verbs = {
  /** A mail server at each address, and a name server for the zone. */
  async start({ zone, addresses, delays }: { zone: Zone; addresses: string[]; delays: SinkDelays }) {
    dns = await createDnsServer(zone);
    sinks = await openSinks(addresses, delays);
    return { dnsServer: dns.address, smtpPort: sinks.port, sinksRunOn: sinks.runtime };
  },

  /** From the next read on. */
  delay: (delays: SinkDelays, part?: Part) => running().delay(delays, part?.from, part?.count),

  /** Counts begin anew. */
  reset: () => running().reset(),

  /** Resolves when no connection is open any more; counts begin anew then. */
  async quiet(part?: Part) {
    const deadline = performance.now() + QUIET_WITHIN_MS;
    while ((await accountsOf(part)).some(({ open }) => open > 0)) {
      if (performance.now() > deadline) throw new Error("connections stay open after a run");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await running().reset(part?.from, part?.count);
  },

  /** Since `reset` or `quiet`. */
  account: async (part?: Part) => accountOf(await accountsOf(part)),
};

export type MailServers = typeof verbs;

answerParent(verbs, async () => {
  await dns?.close();
  await sinks?.close();
});
