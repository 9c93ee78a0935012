import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DEAD_ADDRESSES } from "../support/mail-world/domains.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../support/service.ts";
import { until } from "../support/until.ts";

/**
 * Port 25 closed: every site fails and none succeeds. Their servers are not to blame, the recipients even less, and
 * whoever asks is told at once. The process itself goes on trying, and finds out when the way is open again.
 */
const BIG = [
  ["one.test", "aspmx.l.google.com"],
  ["two.test", "two-test.mail.protection.outlook.com"],
] as const;

let deployment: TestDeployment;
let api: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi();
  key = (await deployment.team("enterprise")).liveKey;
  // The exchangers of those who are always up, where nothing listens.
  const { dns } = deployment.world;
  for (const [domain, host] of BIG) {
    dns.set(domain, { mx: [[10, host]] });
    dns.set(host, { a: [DEAD_ADDRESSES[0]] });
  }
});
after(() => deployment.stop());

const reasonOf = async (address: string) => (await api.verify(key, address)).body.reason;
const isDown = async () => /^rcpt_our_network_down 1$/m.test(await api.metrics());

describe("our own network", () => {
  it("is blamed once those who are always up are silent, and from then on at once", async () => {
    assert.equal(await isDown(), false);
    for (const [domain] of BIG) assert.equal(await reasonOf(`a@${domain}`), "no_connect");
    // The word goes through the main thread; from then on nobody is dialled for a caller.
    let asked = 0;
    await until("it is blamed", async () => (await reasonOf(`b${asked++}@two.test`)) === "our_network");
    assert.equal(await isDown(), true);
    deployment.world.resetCounters();
    const { body } = await api.verify(key, "exists@lockstep.test", "&evidence=true");
    assert.deepEqual(
      [body.verdict, body.reason, body.checks.smtp.fault, body.cache_ttl_seconds],
      ["unknown", "our_network", "our_network", 30],
    );
    assert.equal(deployment.world.host("mx.lockstep.test").account.connections, 0);
  });

  it("is found well again by the process itself, and everybody is asked as before", async () => {
    // The test before this one offered a server that is up: it is dialled, and nothing said to it.
    await deployment.world.until(() => deployment.world.host("mx.lockstep.test").account.connections > 0);
    let round = 0;
    await until("it is noticed that the way is open", async () => {
      return (await reasonOf(`exists${round++}@plain.test`)) !== "our_network";
    });
    assert.equal(await reasonOf("exists-after@plain.test"), "accepted_mailbox");
    assert.equal(await isDown(), false);
    assert.equal(await reasonOf("missing-after@plain.test"), "mailbox_not_found");
  });

  it("is not blamed for dead servers among live ones", async () => {
    for (let i = 0; i < 6; i++) {
      for (const [domain] of BIG) await reasonOf(`c${i}@${domain}`);
      assert.equal(await reasonOf(`exists-d${i}@plain.test`), "accepted_mailbox");
    }
    assert.equal(await isDown(), false);
  });
});
