import { createDnsServer, type DnsServer } from "../../test/support/mail-world/dns-server.ts";
import { createSink, type Sink } from "../../test/support/mail-world/sink.ts";
import { answerParent } from "../child.ts";
import { cappedAddress, SITES, siteAddress, slowZone } from "../slow-list.ts";

const PORT_ATTEMPTS = 10;
const LOOK_EVERY_MS = 20;

interface Start {
  runs: number[];
  /** A round trip to the capped provider, and to each of the others. */
  cappedLatencyMs: number;
  othersLatencyMs: number;
}

let dns: DnsServer | null = null;
let capped: Sink | null = null;
let others: Sink[] = [];
let looking: NodeJS.Timeout | undefined;
/** Connections that were open at the provider, over all looks since `reset`. */
let seen = { looks: 0, open: 0 };

/** All on one port: the setting SMTP_PORT is one. */
async function listenAll({ cappedLatencyMs, othersLatencyMs }: Start): Promise<[Sink, ...Sink[]]> {
  for (let attempt = 1; ; attempt++) {
    const first = await createSink({ address: cappedAddress, latencyMs: cappedLatencyMs });
    const open: [Sink, ...Sink[]] = [first];
    try {
      for (let site = 0; site < SITES; site++) {
        const at = { address: siteAddress(site), port: first.port };
        open.push(await createSink({ ...at, latencyMs: othersLatencyMs }));
      }
      return open;
    } catch (error) {
      for (const sink of open) await sink.close();
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function look(): void {
  seen.looks += 1;
  seen.open += capped?.account.open ?? 0;
}

const verbs = {
  async start(start: Start) {
    dns = await createDnsServer(slowZone(start.runs));
    [capped, ...others] = await listenAll(start);
    looking = setInterval(look, LOOK_EVERY_MS);
    return { dnsServer: dns.address, smtpPort: capped.port };
  },

  /** Counts begin anew. */
  reset() {
    for (const sink of [capped, ...others])
      if (sink) Object.assign(sink.account, { connections: 0, maxOpen: sink.account.open, recipients: 0 });
    seen = { looks: 0, open: 0 };
  },

  /** Since `reset`. `meanOpen`: of the looks at the provider. */
  account() {
    const { connections = 0, maxOpen = 0, recipients = 0 } = capped?.account ?? {};
    const sum = (of: (sink: Sink) => number) => others.reduce((total, sink) => total + of(sink), 0);
    return {
      capped: { connections, maxOpen, recipients, meanOpen: seen.open / Math.max(1, seen.looks) },
      others: {
        connections: sum(({ account }) => account.connections),
        recipients: sum(({ account }) => account.recipients),
        /** Open now, at all of them. */
        open: sum(({ account }) => account.open),
      },
    };
  },
};

export type SlowServers = typeof verbs;

answerParent(verbs, async () => {
  clearInterval(looking);
  await dns?.close();
  await Promise.all([capped, ...others].map((sink) => sink?.close()));
});
