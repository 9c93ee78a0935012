import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DnsOutcome, Resolver } from "../../../src/dns/resolver.ts";
import { lookUpExchangers } from "../../../src/engine/exchanger-proof.ts";

type Addresses = DnsOutcome<string>;
const NXDOMAIN = { status: "nxdomain", ttlS: 40, proven: true } as const;
const NO_DATA = { status: "no_data", ttlS: 50, proven: true } as const;
const SERVFAIL = { status: "server_failure", code: "SERVFAIL" } as const;
const CIRCLE = { status: "server_failure", code: "CNAME_LOOP" } as const;
const BAD_TARGET = { status: "server_failure", code: "CNAME_TARGET" } as const;
const LONG_CHAIN = { status: "server_failure", code: "CNAME_CHAIN" } as const;
const TIMEOUT = { status: "no_answer", code: "timeout" } as const;
const UNPROVEN = { status: "nxdomain", ttlS: 40, proven: false } as const;
const found = (...records: string[]) => ({ status: "ok", records, ttlS: 30 }) as const;

/**
 * @param hosts hosts of the domain, best first, with the look-ups of their IPv4 and IPv6 addresses
 * @param online names that certainly accept mail are found: an absence without SOA is then trusted
 */
function look(hosts: Record<string, [a: Addresses, aaaa: Addresses]>, online = false) {
  const records = Object.keys(hosts).map((exchange, preference) => ({ exchange, preference }));
  const resolver: Resolver = {
    mx: async (name) =>
      name === "example.test" || online
        ? { status: "ok", records, ttlS: 300 }
        : { status: "no_answer", code: "timeout" },
    a: async (name) => hosts[name]?.[0] ?? assert.fail(`${name} is not asked for`),
    aaaa: async (name) => hosts[name]?.[1] ?? assert.fail(`${name} is not asked for`),
    close: async () => {},
  };
  return lookUpExchangers(resolver, "example.test");
}

const ASKED_NEVER: [Addresses, Addresses] = [found("192.0.2.1"), NO_DATA];

describe("exchangers that cannot exist", () => {
  for (const [what, hosts, ttlS] of [
    ["not in the DNS", { "gone.test": [NXDOMAIN, NXDOMAIN] }, 40],
    ["without an address", { "bare.test": [NO_DATA, NO_DATA] }, 50],
    ["in a circle of CNAMEs", { "circle.test": [CIRCLE, CIRCLE] }, 60],
    ["at the unspecified address", { "zero.test": [found("0.0.0.0"), NO_DATA] }, 30],
    ["at the unspecified IPv6 address", { "zero.test": [NO_DATA, found("::")] }, 30],
    ["0.0.0.0 as text", { "0.0.0.0": ASKED_NEVER }, 300],
    ["localhost", { localhost: ASKED_NEVER, "mail.localhost": ASKED_NEVER }, 300],
    ["several, each in its way", { "gone.test": [NXDOMAIN, NO_DATA], localhost: ASKED_NEVER }, 40],
  ] as [string, Record<string, [Addresses, Addresses]>, number][])
    it(`are those ${what}`, async () => {
      const { status, fault, ttlS: keptS, hosts: named } = await look(hosts);
      assert.deepEqual([status, fault, keptS], ["mx_unresolvable", "recipient", ttlS]);
      assert.deepEqual(named, Object.keys(hosts));
    });

  for (const [what, hosts] of [
    ["one has an address", { "gone.test": [NXDOMAIN, NXDOMAIN], "mx.test": [found("192.0.2.1"), NO_DATA] }],
    ["one has an IPv6 address", { "six.test": [NO_DATA, found("2001:db8::1")] }],
    ["one has another address beside 0.0.0.0", { "two.test": [found("0.0.0.0", "192.0.2.1"), NO_DATA] }],
    ["a filter answers for a name that it blocks", { "zero.test": [found("0.0.0.0"), found("::")] }],
    ["a name server fails", { "gone.test": [NXDOMAIN, NXDOMAIN], "weak.test": [SERVFAIL, NO_DATA] }],
    ["CNAMEs lead to a name that we cannot ask for", { "odd.test": [BAD_TARGET, BAD_TARGET] }],
    ["there are more CNAMEs than we follow", { "long.test": [LONG_CHAIN, LONG_CHAIN] }],
    ["nobody answers for the other family", { "late.test": [NO_DATA, TIMEOUT] }],
    ["the absence is without proof", { "unproven.test": [UNPROVEN, UNPROVEN] }],
    ["an address is written as a name", { "192.0.2.1": ASKED_NEVER }],
    ["an IPv6 address is written as a name", { "2001:db8::1": ASKED_NEVER }],
    ["it only looks like localhost", { "localhost.example.test": ASKED_NEVER }],
  ] as [string, Record<string, [Addresses, Addresses]>][])
    it(`are none where ${what}`, async () => {
      assert.equal((await look(hosts)).status, "ok");
    });

  it("are none where a filter answers for one family, and nothing for the other", async () => {
    const unproven = { ...NO_DATA, proven: false };
    assert.equal((await look({ "zero.test": [found("0.0.0.0"), unproven] }, true)).status, "ok");
    assert.equal((await look({ "bare.test": [unproven, unproven] }, true)).status, "mx_unresolvable");
  });

  it("are looked for at once, behind the best, however slow their name servers are", async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const hosts = ["one.test", "two.test", "three.test"];
    const slowly = (family: string) => (name: string) =>
      new Promise<Addresses>((resolve) => {
        asked.push(`${name} ${family}`);
        answers.push(() => resolve(NXDOMAIN));
      });
    const resolver: Resolver = {
      mx: async () => ({
        status: "ok",
        records: hosts.map((exchange, preference) => ({ exchange, preference })),
        ttlS: 300,
      }),
      a: slowly("a"),
      aaaa: slowly("aaaa"),
      close: async () => {},
    };
    const found = lookUpExchangers(resolver, "example.test");
    const rounds: string[][] = [];
    for (let round = 0; round < 4; round++) {
      await new Promise(setImmediate);
      rounds.push(asked.splice(0));
      for (const answer of answers.splice(0)) answer();
    }
    assert.deepEqual(rounds, [
      ["one.test a"],
      ["one.test aaaa"],
      ["two.test a", "three.test a"],
      ["two.test aaaa", "three.test aaaa"],
    ]);
    assert.equal((await found).status, "mx_unresolvable");
  });

  it("are not looked for among too many", async () => {
    const many = Array.from({ length: 21 }, (_, i) => [`h${i}.test`, [NXDOMAIN, NXDOMAIN]]);
    assert.equal((await look(Object.fromEntries(many))).status, "ok");
  });
});
