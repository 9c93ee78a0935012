import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import * as v from "valibot";
import { composeRole, type ServingRole } from "../../../src/app/role.ts";
import { ConfigError, loadConfig } from "../../../src/config/config.ts";
import type { VerificationResult } from "../../../src/features/verify/answer/verification-result.ts";
import { createLog } from "../../../src/platform/log.ts";
import { ContractResult } from "../../support/contract.ts";
import { EXPECTATIONS } from "../../support/mail-world/behaviours.ts";
import type { ZoneEntry } from "../../support/mail-world/zone.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";

/**
 * The owner of a domain chooses the addresses of its mail exchangers, and may name ours or our neighbours'. Unless the
 * configuration allows it, only public ones are dialled. All of the mail world is on loopback, listens on the very port
 * that is probed, and gets no connection.
 */
const OUTSIDE_IPV4 = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "127.0.0.1",
  "127.1.2.3",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.254",
  "192.0.0.8",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
];
/** Each form that holds an IPv4 address holds a private one or loopback. */
const OUTSIDE_IPV6 = [
  "::",
  "::1",
  "::a00:1",
  "::7f00:1",
  "::ffff:10.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:0.0.0.0",
  "::ffff:0:a00:1",
  "64:ff9b::a00:1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::a00:1",
  "100::1",
  "2001:0:a00:1::1",
  "2001:db8::1",
  "2002:a00:1::",
  "2002:7f00:1::1",
  "3fff::1",
  "fc00::1",
  "fd12:3456:789a::1",
  "fe80::1",
  "fec0::1",
  "ff02::1",
];
/** Known before anybody is dialled. */
const BY_DNS_ALONE = new Set(["null_mx", "no_mx", "mx_unresolvable", "domain_not_found", "dns_error"]);
/** A role address needs no server's answer when the DNS fails. */
function isByDnsAlone(address: string, reason: string): boolean {
  return BY_DNS_ALONE.has(reason) || address === "info@servfail.test";
}
/** No host has it: an exchanger that has no other cannot exist. */
const UNSPECIFIED = new Set(["0.0.0.0", "::", "::ffff:0.0.0.0"]);
const REFUSED = { stage: "connect", reply: "not a public address" };

let deployment: TestDeployment;
let role: ServingRole;
let key: string;

/** The API as in production, but for the port: the setting would not let it be another than 25. */
async function startStrict(): Promise<ServingRole> {
  const config = loadConfig({ ...deployment.settings, SMTP_PORT: "25", PROBE_PRIVATE_ADDRESSES: "false" });
  const smtp = { ...config.smtp, port: deployment.world.smtpPort };
  const strict = await composeRole({ ...config, role: "api", smtp }, createLog("silent"));
  await strict.lifecycle.start();
  return strict;
}

before(async () => {
  deployment = await createDeployment();
  role = await startStrict();
  key = (await deployment.team("enterprise")).liveKey;
});
after(async () => {
  await role.lifecycle.stop();
  await deployment.stop();
});
beforeEach(() => deployment.world.resetCounters());

async function verify(email: string): Promise<VerificationResult> {
  const query = `email=${encodeURIComponent(email)}&evidence=true`;
  const response = await fetch(`http://127.0.0.1:${role.ports().port}/v1/verify?${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.equal(response.status, 200, email);
  return (await response.json()) as VerificationResult;
}

function connections(): number {
  return deployment.world.hosts().reduce((sum, { account }) => sum + account.connections, 0);
}

/** `no_connect`, because of the address and not for lack of an answer there. */
async function assertRefused(email: string): Promise<void> {
  const body = await verify(email);
  v.assert(ContractResult, body);
  assert.deepEqual([body.verdict, body.reason], ["unknown", "no_connect"], email);
  const { stage, reply } = body.evidence ?? assert.fail(`${email}: no evidence`);
  assert.deepEqual({ stage, reply }, REFUSED, email);
}

async function assertUnresolvable(email: string): Promise<void> {
  const body = await verify(email);
  v.assert(ContractResult, body);
  assert.deepEqual([body.verdict, body.reason], ["invalid", "mx_unresolvable"], email);
}

describe("addresses that are not public", () => {
  const domains: [string, ZoneEntry][] = [
    ...OUTSIDE_IPV4.map((address, i): [string, ZoneEntry] => [`v4-${i}`, { a: [address] }]),
    ...OUTSIDE_IPV6.map((address, i): [string, ZoneEntry] => [`v6-${i}`, { aaaa: [address] }]),
  ];

  for (const [name, entry] of domains) {
    it(`are not dialled: ${entry.a ?? entry.aaaa}, as a mail exchanger's and as the domain's own`, async () => {
      const { dns } = deployment.world;
      dns.set(`mx.${name}.forbidden.test`, entry);
      dns.set(`${name}.forbidden.test`, { mx: [[10, `mx.${name}.forbidden.test`]] });
      dns.set(`implicit-${name}.forbidden.test`, entry);
      const isUnspecified = [...(entry.a ?? []), ...(entry.aaaa ?? [])].every((ip) => UNSPECIFIED.has(ip));
      const assertNotDialled = isUnspecified ? assertUnresolvable : assertRefused;
      await assertNotDialled(`exists@${name}.forbidden.test`);
      await assertNotDialled(`exists@implicit-${name}.forbidden.test`);
      assert.equal(connections(), 0);
    });
  }

  it("are not dialled behind others, of one host or of the next", async () => {
    const { dns } = deployment.world;
    dns.set("several.hosts.test", { a: ["10.0.0.1", "127.0.0.1", "192.168.0.1"], aaaa: ["::1"] });
    dns.set("six.hosts.test", { aaaa: ["fe80::1", "::ffff:127.0.0.1"] });
    dns.set("several.forbidden.test", {
      mx: [
        [1, "several.hosts.test"],
        [2, "six.hosts.test"],
        [3, "mx.trap.test"],
      ],
    });
    await assertRefused("exists@several.forbidden.test");
    assert.equal(connections(), 0);
  });
});

describe("the whole mail world, being on loopback", () => {
  it("is forbidden: verdicts by DNS alone are given, no host is dialled", async () => {
    // A silent DNS is as silent here as anywhere, and takes its time.
    const asked = EXPECTATIONS.filter((row) => !(row.holds && BY_DNS_ALONE.has(row.expected.reason)));
    const answers = await Promise.all(
      asked.map(async ({ address, expected }) => ({ address, expected, body: await verify(address) })),
    );
    for (const { address, expected, body } of answers) {
      const reason = isByDnsAlone(address, expected.reason) ? expected.reason : "no_connect";
      assert.equal(body.reason, reason, address);
    }
    assert.equal(connections(), 0);
  });

  it("is not taken for a network of ours that is down", async () => {
    await assertRefused("exists-again@plain.test");
  });
});

describe("the setting PROBE_PRIVATE_ADDRESSES", () => {
  it("is what another port than 25 needs", () => {
    const { PROBE_PRIVATE_ADDRESSES: _, ...settings } = deployment.settings;
    assert.throws(
      () => loadConfig(settings),
      (error: Error) => error instanceof ConfigError && /^SMTP_PORT: /.test(error.message),
    );
    const { smtp } = loadConfig({ ...settings, SMTP_PORT: "" });
    assert.deepEqual([smtp.port, smtp.probePrivateAddresses], [25, false]);
  });

  describe("when true", () => {
    let open: TestApi;
    before(async () => {
      open = await deployment.startApi();
    });

    it("opens loopback, and still not what is no single host", async () => {
      const { dns } = deployment.world;
      const nobody = { a: ["0.0.0.0", "255.255.255.255"], aaaa: [] };
      dns.set("nobody-4.forbidden.test", nobody);
      dns.set("nobody-6.forbidden.test", { aaaa: ["::", "::ffff:0.0.0.0"] });
      dns.set("many-4.forbidden.test", { a: ["224.0.0.1"] });
      dns.set("many-6.forbidden.test", { aaaa: ["ff02::1"] });
      for (const name of ["nobody-4", "nobody-6", "many-4", "many-6"]) {
        const { body } = await open.verify(key, `exists@${name}.forbidden.test`, "&evidence=true");
        assert.equal(body.reason, name === "nobody-6" ? "mx_unresolvable" : "no_connect", name);
        if (name !== "nobody-6") assert.equal(body.evidence?.reply, REFUSED.reply, name);
      }
      assert.equal(connections(), 0);
      const { body } = await open.verify(key, "open@catchall.test");
      assert.equal(body.reason, "catch_all");
      assert.ok(connections() > 0);
    });
  });
});
