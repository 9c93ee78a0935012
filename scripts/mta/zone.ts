import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { MailServer } from "./mail-server.ts";

const PREFERENCE = 10;

/** The DNS of the servers' domains: each has its listener's host as its one MX, the host has its loopback address. */
export function zoneOf(servers: readonly MailServer[]): Zone {
  const zone: Zone = new Map();
  for (const { host, ip, domains } of servers.flatMap(({ listeners }) => listeners)) {
    zone.set(host, { a: [ip] });
    for (const domain of domains) zone.set(domain, { mx: [[PREFERENCE, host]] });
  }
  return zone;
}
