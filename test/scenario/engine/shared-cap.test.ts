import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { MailHost } from "../../support/mail-world/host.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * Providers that allow two connections from an address of ours, and two API processes behind one address: together they
 * open at most two, and each gets its share.
 */
const CAP = 2;
const ADDRESSES = 60;

let deployment: TestDeployment;
let first: TestApi;
let second: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  [first, second] = await Promise.all([deployment.startApi(), deployment.startApi()]);
  key = (await deployment.team("enterprise", { ratePerS: 1_000, rateBurst: 1_000 })).liveKey;
});
after(() => deployment.stop());

/** Customers' domains at a provider to which shaping.json gives two connections, on a host of the world. */
function customersOf(mxName: string, domain: string, hostName: string): MailHost {
  const { world } = deployment;
  const host = world.host(hostName);
  world.dns.set(mxName, { a: [host.address] });
  for (let i = 0; i < ADDRESSES; i++) world.dns.set(`${domain}${i}.test`, { mx: [[10, mxName]] });
  return host;
}

async function sessionsOpened(api: TestApi): Promise<number> {
  return Number(/^rcpt_smtp_sessions_opened_total (\d+)$/m.exec(await api.metrics())?.[1]);
}

describe("the cap of a site", () => {
  it("holds over the processes of an egress, each of which gets through", async () => {
    const host = customersOf("smtp.laposte.net", "laposte", "mx.limited.test");
    const apis = [first, second];
    const asked = Array.from({ length: ADDRESSES }, (_, i) =>
      apis[i % 2]?.verify(key, `exists${i}@laposte${i}.test`),
    );
    const reasons = (await Promise.all(asked)).map((answer) => answer?.body.reason);
    assert.deepEqual(new Set(reasons), new Set(["accepted_mailbox"]));
    assert.ok(host.account.accepted >= ADDRESSES, `${host.account.accepted}`);
    assert.ok(host.account.maxOpen <= CAP, `${host.account.maxOpen} connections at once`);
    for (const api of apis)
      await until("a process counts its sessions", async () => (await sessionsOpened(api)) > 0);
  });

  it("leaves room to a process that comes late, while another is busy with all of it", async () => {
    const host = customersOf("smtp-in.sfr.fr", "sfr", "mx.blocked.test");
    let isBusy = true;
    let asked = 0;
    const ask = async () => {
      while (isBusy) {
        const { body } = await first.verify(key, `exists-busy${asked++}@sfr0.test`);
        assert.equal(body.reason, "accepted_mailbox");
      }
    };
    host.hold("rcpt");
    const busy = Array.from({ length: 8 }, ask);
    await deployment.world.until(() => host.account.open === CAP);
    const late = second.verify(key, "exists-late@sfr1.test").finally(() => {
      isBusy = false;
    });
    host.release();
    assert.equal((await late).body.reason, "accepted_mailbox");
    await Promise.all(busy);
    assert.equal(host.account.maxOpen, CAP);
  });
});
