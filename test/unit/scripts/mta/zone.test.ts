import assert from "node:assert/strict";
import { test } from "node:test";
import { exim } from "../../../../scripts/mta/exim.ts";
import { EXPECTED } from "../../../../scripts/mta/mail-server.ts";
import { opensmtpd } from "../../../../scripts/mta/opensmtpd.ts";
import { postfix } from "../../../../scripts/mta/postfix.ts";
import { zoneOf } from "../../../../scripts/mta/zone.ts";

const SERVERS = [postfix, exim, opensmtpd];

test("each mailbox's domain leads to its own server, and to no other", () => {
  const zone = zoneOf(SERVERS);
  for (const { host, ip, mailboxes } of SERVERS) {
    assert.deepEqual(zone.get(host), { a: [ip] });
    for (const { address } of mailboxes)
      assert.deepEqual(zone.get(address.split("@")[1] ?? ""), { mx: [[10, host]] }, address);
  }
});

test("each server stands on an address of its own", () => {
  assert.equal(new Set(SERVERS.map(({ ip }) => ip)).size, SERVERS.length);
});

test("each server has a mailbox of every kind that all of them can have", () => {
  const kinds = Object.keys(EXPECTED).filter((kind) => kind !== "policy");
  for (const { name, mailboxes } of SERVERS)
    for (const kind of kinds)
      assert.ok(
        mailboxes.some((mailbox) => mailbox.kind === kind),
        `${name}: ${kind}`,
      );
});
