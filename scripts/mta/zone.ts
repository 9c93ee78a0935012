import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { MailServer } from "./mail-server.ts";

const PREFERENCE = 10;

const domainOf = (address: string) => address.slice(address.lastIndexOf("@") + 1);

/** The DNS of the servers' domains: each has its server's host as its one MX, the host has its loopback address. */
export function zoneOf(servers: readonly MailServer[]): Zone {
  const zone: Zone = new Map();
  for (const { host, ip, mailboxes } of servers) {
    zone.set(host, { a: [ip] });
    for (const { address } of mailboxes) zone.set(domainOf(address), { mx: [[PREFERENCE, host]] });
  }
  return zone;
}
