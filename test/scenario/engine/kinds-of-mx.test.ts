import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brief, engineScenario, mixed, wrongly } from "../../support/engine-scenario.ts";

/** Verdicts by DNS alone: null MX (RFC 7505), no MX, and the address record in its place (RFC 5321 §5.1). */
const scenario = engineScenario({ bulk: true });

const WANTED: Record<string, string> = {
  "exists@nullmx.test": "invalid null_mx recipient",
  "exists@nodata.test": "invalid no_mx recipient",
  "exists@nowhere.test": "invalid domain_not_found recipient",
  "exists@cname-nowhere.test": "invalid domain_not_found recipient",
  "exists@mx-self-noaddress.test": "invalid mx_unresolvable recipient",
  "exists@mx-noaddress.test": "invalid mx_unresolvable recipient",
  "exists@mx-nxdomain.test": "invalid mx_unresolvable recipient",
  "exists@mx-cname-loop.test": "invalid mx_unresolvable recipient",
  "exists@mx-localhost.test": "invalid mx_unresolvable recipient",
  "exists@mx-all-absent.test": "invalid mx_unresolvable recipient",
  "exists@mx-half-absent.test": "unknown no_connect their_server",
  "exists@mx-unproven.test": "unknown no_connect their_server",
  // Lists need no DNS, and this world has no record of that name.
  "someone@mailinator.com": "risky disposable_domain recipient",
  "info@servfail.test": "risky role_address",
};

describe("kinds of MX", () => {
  it("that take no mail are distinguished from those that cannot be reached, without a connection", async () => {
    const { told } = await scenario.job(Object.keys(WANTED));
    assert.deepEqual(Object.fromEntries([...told].map(([address, end]) => [address, brief(end)])), WANTED);
    for (const { account, name } of scenario.world.hosts()) assert.equal(account.connections, 0, name);
  });

  it("no MX but an address: it is the exchanger, and its mailboxes are judged as any", async () => {
    const { told } = await scenario.job([
      ...mixed(12, "i", "implicit.test"),
      ...mixed(6, "s", "mx-self.test"),
      ...mixed(6, "n", "implicit-nxdomain.test"),
      ...mixed(6, "l", "mx-literal.test"),
    ]);
    assert.deepEqual(wrongly(told), []);
  });

  it("out of order, in mixed case, a thousand of them: the best is asked, no other", async () => {
    const domains = ["preferences.test", "mixed-case.test", "huge.test", "mx-cname.test"];
    const { told } = await scenario.job(domains.flatMap((domain) => mixed(3, "o", domain)));
    assert.deepEqual(wrongly(told), []);
    assert.equal(scenario.host("mx.catchall.test").account.connections, 0);
  });
});
