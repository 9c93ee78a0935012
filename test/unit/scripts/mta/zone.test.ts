import assert from "node:assert/strict";
import { test } from "node:test";
import { exim } from "../../../../scripts/mta/exim.ts";
import { EXPECTED } from "../../../../scripts/mta/mail-server.ts";
import { opensmtpd } from "../../../../scripts/mta/opensmtpd.ts";
import { postfix } from "../../../../scripts/mta/postfix.ts";
import { zoneOf } from "../../../../scripts/mta/zone.ts";
import { siteOf } from "../../../../src/verification/lists/site.ts";

const SERVERS = [postfix, exim, opensmtpd];
const LISTENERS = SERVERS.flatMap(({ listeners }) => listeners);
const domainOf = (address: string) => address.split("@")[1] ?? "";

test("each domain leads to its own listener, and to no other", () => {
  const zone = zoneOf(SERVERS);
  for (const { host, ip, domains } of LISTENERS) {
    assert.deepEqual(zone.get(host), { a: [ip] });
    for (const domain of domains) assert.deepEqual(zone.get(domain), { mx: [[10, host]] }, domain);
  }
});

test("each mailbox and each burst has a domain of its own server's", () => {
  for (const { listeners, mailboxes, bursts } of SERVERS) {
    const domains = listeners.flatMap((listener) => listener.domains);
    for (const { address } of mailboxes) assert.ok(domains.includes(domainOf(address)), address);
    for (const { domain } of bursts) assert.ok(domains.includes(domain), domain);
  }
});

test("each listener is a site of its own, so that a breaker that opens hides no other", () => {
  const sites = LISTENERS.map(({ host }) => siteOf([host], host).site);
  assert.equal(new Set(sites).size, LISTENERS.length);
  assert.equal(new Set(LISTENERS.map(({ ip }) => ip)).size, LISTENERS.length);
});

test("each server has a mailbox of every kind that all of them can have", () => {
  const some: readonly string[] = ["policy", "shut", "rate_limited", "not_yet", "temporary", "no_smtputf8"];
  const kinds = Object.keys(EXPECTED).filter((kind) => !some.includes(kind));
  for (const { name, mailboxes } of SERVERS)
    for (const kind of kinds)
      assert.ok(
        mailboxes.some((mailbox) => mailbox.kind === kind),
        `${name}: ${kind}`,
      );
});

test("no mailbox that we ask for beforehand as the service does is one that remembers its clients", () => {
  for (const { kind, raw, address } of SERVERS.flatMap(({ mailboxes }) => mailboxes))
    if (kind === "greylisted" || kind === "not_yet")
      assert.ok(raw?.sender ?? raw?.recipient ?? raw?.localAddress, address);
});
