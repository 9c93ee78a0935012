import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EXPECTATIONS } from "../../support/mail-world/behaviours.ts";
import { buildZone } from "../../support/mail-world/domains.ts";
import { HOSTS } from "../../support/mail-world/hosts.ts";
import { findMailbox, MAILBOXES } from "../../support/mail-world/mailboxes.ts";

const zone = buildZone(
  HOSTS.map((profile, i) => ({ profile, address: profile.address ?? `127.0.0.${10 + i}` })),
);
const locals = new Set(EXPECTATIONS.map(({ address }) => address.slice(0, address.lastIndexOf("@"))));
const domains = new Set(EXPECTATIONS.map(({ address }) => address.slice(address.lastIndexOf("@") + 1)));

/** A reply too weak to expect one verdict of; tests of the classification use it. */
const WITHOUT_EXPECTATION = ["bare"];
/** Names that only lead from one of the documented domains to another. */
const INNER_NAMES = ["trap.test", "cname-2.test", "cname-3.test", "cname-loop-2.test"];
/** Domains that differ only in their signals; the scenario about signals documents them. */
const BY_THEIR_SIGNALS = [
  ...["unsigned.test", "texts-silent.test", "texts-servfail.test", "parked.test", "throw-away.test"],
  ...["listed.test", "listed.test.dbl.test", "plain.test.dbl.test"],
];

describe("the list of behaviours", () => {
  it("has each address once, with a verdict and a reason of the API's table", () => {
    assert.equal(new Set(EXPECTATIONS.map(({ address }) => address)).size, EXPECTATIONS.length);
    for (const { address, expected, why } of EXPECTATIONS) {
      assert.ok(why.length > 0, address);
      assert.equal(expected.verdict === "valid", expected.reason === "accepted_mailbox", address);
      assert.equal(
        expected.verdict === "invalid",
        [
          "mailbox_not_found",
          "mailbox_disabled",
          "no_mx",
          "null_mx",
          "mx_unresolvable",
          "domain_not_found",
        ].includes(expected.reason),
        address,
      );
    }
  });

  it("documents every mailbox, host and domain", () => {
    const mailboxes = Object.keys(MAILBOXES).filter((name) => !WITHOUT_EXPECTATION.includes(name));
    assert.deepEqual(
      mailboxes.filter((name) => !locals.has(name)),
      [],
    );
    const names = [...zone.keys()].filter((name) => !/^mx[-a-z]*\./.test(name) || name.startsWith("mx-"));
    const undocumented = names.filter(
      (name) =>
        !domains.has(name) &&
        !INNER_NAMES.includes(name) &&
        !BY_THEIR_SIGNALS.includes(name.replace(/^_dmarc\./, "")) &&
        !name.startsWith("_dmarc.implicit") &&
        !name.endsWith(".hosts.test") &&
        !name.endsWith(".provider.test"),
    );
    assert.deepEqual(undocumented, []);
  });

  it("speaks only of domains that the zone has, but for those that are to be missing", () => {
    const missing = [...domains].filter((domain) => !zone.has(domain));
    assert.deepEqual(missing, ["nowhere.test"]);
  });

  it("leads every MX to a name with an address, but for those that are to be loose ends", () => {
    const loose = new Set<string>();
    for (const { mx = [] } of zone.values()) {
      for (const [, exchange] of mx) {
        const name = exchange.toLowerCase();
        const entry = zone.get(zone.get(name)?.cname ?? name);
        if (entry?.a === undefined && entry?.faults === undefined)
          loose.add(name.replace(/^m\d+\.huge/, "m*.huge"));
      }
    }
    const plain = zone.get("mx.plain.test")?.a?.[0];
    assert.deepEqual([...loose].sort(), [
      ".",
      "0.0.0.0",
      plain,
      "circle.hosts.test",
      "localhost",
      "m*.huge.hosts.test",
      "mail.wabblywabble.com",
      "mx-self-noaddress.test",
      "nodata.test",
      "nowhere.hosts.test",
    ]);
  });

  it("knows a mailbox by its name alone or with a suffix that begins with a mark or a digit", () => {
    for (const local of ["exists", "exists1", "exists-x", "exists+tag", "exists.b", "EXISTS"]) {
      assert.equal(findMailbox(local), MAILBOXES.exists, local);
    }
    assert.equal(findMailbox("full-hard-2"), MAILBOXES["full-hard"]);
    assert.equal(findMailbox("full-2"), MAILBOXES.full);
    for (const local of ["existsing", "rcpt-1f3a", "constructor", ""])
      assert.equal(findMailbox(local), undefined);
  });
});
