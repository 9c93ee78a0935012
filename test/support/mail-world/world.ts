import { EXPECTATIONS, type Expectation } from "./behaviours.ts";
import { selfSignedContext } from "./certificate.ts";
import { createDnsServer, type DnsServer } from "./dns-server.ts";
import { buildZone } from "./domains.ts";
import { createGreylist } from "./greylist.ts";
import { createMailHost, type HostDependencies, type MailHost } from "./host.ts";
import { HOSTS } from "./hosts.ts";
import type { HostProfile } from "./profile.ts";
import { createWaitingRoom } from "./waiting-room.ts";

export interface MailWorldOptions {
  /** Milliseconds between the bytes of a slow banner; null: only `drip()` moves it. Default 1000. */
  dripIntervalMs?: number | null;
  /** Hosts beside those of HOSTS, e.g. under a provider's real name; set their domains by `dns.set`. */
  hosts?: HostProfile[];
}

/** The internet in miniature, on loopback: `.test` domains, their DNS and their mail servers. */
export interface MailWorld {
  /** For the setting DNS_SERVERS. */
  readonly dnsServer: string;
  /** For SMTP_PORT: the same on every host's address. */
  readonly smtpPort: number;
  readonly dns: DnsServer;
  /** The correct result for each address; those that need IPv6 only where the machine has it. */
  readonly expectations: Expectation[];
  /** By name, e.g. `mx.plain.test`; throws for one that is not in the world. */
  host(name: string): MailHost;
  hosts(): MailHost[];
  /** From now on greylisting servers accept; `false` makes them forget. */
  relent(value?: boolean): void;
  /** Sends `bytes` more of each slow banner. */
  drip(bytes: number): void;
  /**
   * Resolves once `condition` holds, checked after every event of the world, so that no test needs to sleep. Rejects on
   * `close`.
   */
  until(condition: () => boolean): Promise<void>;
  /** Resets all counters and the query log; behaviour and greylists remain. */
  resetCounters(): void;
  close(): Promise<void>;
}

/**
 * Starts the world. The servers bind 127.0.0.1, 127.0.0.10 and up (Linux has all of 127/8), on one port that is free on
 * all of them. With IPv6, the well-behaved host also listens on ::1.
 */
export async function createMailWorld(options: MailWorldOptions = {}): Promise<MailWorld> {
  const greylist = createGreylist();
  const events = createWaitingRoom();
  const { dripIntervalMs = 1_000 } = options;
  const deps: HostDependencies = {
    greylist,
    secureContext: selfSignedContext("mail-world.test"),
    dripIntervalMs,
    changed: events.changed,
  };
  const placed = [...HOSTS, ...(options.hosts ?? [])].map((profile, i) => ({
    profile,
    address: profile.address ?? `127.0.0.${10 + i}`,
  }));
  const hosts = placed.map(({ profile, address }) => createMailHost(profile, address, deps));
  const overIpv6 = createMailHost({ name: "implicit-aaaa.test" }, "::1", deps);
  const { port, ipv6 } = await listenEverywhere(hosts, overIpv6);
  if (ipv6) hosts.push(overIpv6);
  const dns = await createDnsServer(buildZone(placed), events.changed);

  return {
    dnsServer: dns.address,
    smtpPort: port,
    dns,
    expectations: EXPECTATIONS.filter(({ needs }) => needs !== "ipv6" || ipv6),
    host(name) {
      const host = hosts.find((candidate) => candidate.name === name);
      if (host === undefined) throw new Error(`no host ${name} in the mail world`);
      return host;
    },
    hosts: () => [...hosts],
    relent: (value = true) => greylist.relent(value),
    drip(bytes) {
      for (const host of hosts) host.drip(bytes);
    },
    until: events.until,
    resetCounters() {
      dns.resetCounters();
      for (const host of hosts) host.resetCounters();
    },
    async close() {
      events.close();
      await Promise.all([dns.close(), ...hosts.map((host) => host.close())]);
    },
  };
}

const PORT_ATTEMPTS = 20;

/**
 * Finds one port for all hosts. Other processes use loopback too, so a port free on the first address may be in use on
 * the next.
 */
async function listenEverywhere(
  hosts: MailHost[],
  overIpv6: MailHost,
): Promise<{ port: number; ipv6: boolean }> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [first, ...others] = hosts;
      const port = (await first?.listen(0)) ?? 0;
      for (const host of others) await host.listen(port);
      return { port, ipv6: await listenIfPossible(overIpv6, port) };
    } catch (error) {
      await Promise.all([...hosts, overIpv6].map((host) => host.close()));
      if (attempt === PORT_ATTEMPTS || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

/** false where the machine has no ::1. */
async function listenIfPossible(host: MailHost, port: number): Promise<boolean> {
  try {
    await host.listen(port);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(code)) return false;
    throw error;
  }
}
