import { Resolver } from "node:dns/promises";
import { connect } from "node:net";

/** Can this machine reach mail servers? `unknown`: their names could not be resolved from here. */
export type Port25 = "open" | "closed" | "unknown";

export interface Port25Options {
  /** `ip` or `ip:port`, not checked; empty: those of the machine. */
  dnsServers: string[];
  domains: readonly string[];
  port: number;
  /** Milliseconds for everything. */
  withinMs: number;
}

/** Providers whose exchangers answer everybody: if none of them does, the reason is on our side. */
export const WELL_KNOWN = ["gmail.com", "outlook.com", "yahoo.com", "icloud.com"] as const;

/** At least this much of the time belongs to connecting, or nothing is concluded from silence. */
const CONNECT_MIN_MS = 500;

/** Resolves to true when a connection is made, false when it is refused or not made in time. */
function canConnect(host: string, port: number, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (made: boolean) => {
      socket.destroy();
      resolve(made);
    };
    socket.setTimeout(withinMs, () => finish(false));
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}

async function exchangerAddress(resolver: Resolver, domain: string): Promise<string | null> {
  try {
    const records = await resolver.resolveMx(domain);
    const [best] = records.sort((a, b) => a.priority - b.priority);
    const [address] = best ? await resolver.resolve4(best.exchange) : [];
    return address ?? null;
  } catch {
    return null;
  }
}

/** Asks `servers`; null when one of them is no address of a server. */
function resolverOf(servers: string[], timeoutMs: number): Resolver | null {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  try {
    if (servers.length > 0) resolver.setServers(servers);
    return resolver;
  } catch {
    return null;
  }
}

/** Tries to reach the mail exchangers of big providers, all at once, within `withinMs`. Never rejects. */
export async function checkPort25(options: Port25Options): Promise<Port25> {
  const deadline = Date.now() + options.withinMs;
  const resolver = resolverOf(options.dnsServers, options.withinMs);
  if (resolver === null) return "unknown";
  const expire = setTimeout(() => resolver.cancel(), Math.max(0, options.withinMs - CONNECT_MIN_MS));
  const tries = options.domains.map(async (domain): Promise<Port25> => {
    const address = await exchangerAddress(resolver, domain);
    if (address === null) return "unknown";
    return (await canConnect(address, options.port, Math.max(1, deadline - Date.now()))) ? "open" : "closed";
  });
  // Fails where the outcome is not `open`, so that the first open one decides and nobody waits for the others.
  const opens = tries.map(async (outcome) => {
    if ((await outcome) !== "open") throw new Error("not open");
  });
  try {
    await Promise.any(opens);
    return "open";
  } catch {
    return (await Promise.all(tries)).includes("closed") ? "closed" : "unknown";
  } finally {
    clearTimeout(expire);
  }
}

const MEANING: Record<Port25, string> = {
  open: "Port 25 is open from here: live keys probe real mailboxes.",
  closed:
    "Port 25 is closed from here: live keys answer `unknown` with reason `our_network` where a mailbox must be probed.\n" +
    "Ask your provider to open outgoing port 25, or run rcpt where it is open. Test keys work everywhere.",
  unknown:
    "Whether port 25 is open from here cannot be told: no mail exchanger's name could be resolved.\n" +
    "Without DNS live keys answer `unknown` with reason `dns_error`; set DNS_SERVERS. Test keys work everywhere.",
};

/** What the outcome means to somebody who wants answers. */
export function explainPort25(outcome: Port25): string {
  return MEANING[outcome];
}
