import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { engineScenario, mixed, NOT_FOUND, VALID, wrongly } from "../../support/engine-scenario.ts";
import { CONNECTION_LIMIT } from "../../support/mail-world/hosts.ts";

/** A server that allows two connections, while our policy allows ten: the third gets 421 as its greeting. */
const scenario = engineScenario({ bulk: true });
const DOMAIN = "connection-limit.test";

describe("a connection limit below our policy", () => {
  it("costs no row of a job its verdict, and starves none", async () => {
    const host = scenario.host(`mx.${DOMAIN}`);
    const { told } = await scenario.job(mixed(200, "j", DOMAIN));
    assert.deepEqual(wrongly(told), []);
    const { connections, transactions } = host.account;
    assert.ok(transactions >= 200);
    assert.ok(connections < 200, `${connections} connections`);
  });

  it("nor any of 60 requests at once", async () => {
    const host = scenario.host(`mx.${DOMAIN}`);
    // The worker's idle sessions are connections too.
    await scenario.sees("the worker has left", () => host.account.open === 0);
    host.resetCounters();
    const addresses = mixed(60, "s", DOMAIN);
    const wanted = addresses.map((address) => (address.startsWith("exists") ? VALID : NOT_FOUND));
    assert.deepEqual(await scenario.askAll(addresses), wanted);
    assert.ok(host.account.maxOpen > CONNECTION_LIMIT, "the limit was met");
    await scenario.spent(addresses.length);
  });
});
