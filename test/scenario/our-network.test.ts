import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DEAD_ADDRESSES } from "../support/mail-world/domains.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../support/service.ts";

/**
 * Port 25 closed: every site fails and none succeeds. Their servers are not to blame, the recipients even less, and
 * whoever asks is told at once. When the way is open again, one trial finds out.
 */
let deployment: TestDeployment;
let api: TestApi;
let key: string;

before(async () => {
  deployment = await createDeployment();
  api = await deployment.startApi();
  key = (await deployment.team("enterprise")).liveKey;
  for (let i = 0; i < 6; i++) {
    deployment.world.dns.set(`cut${i}.test`, { mx: [[10, `mx.cut${i}.test`]] });
    deployment.world.dns.set(`mx.cut${i}.test`, { a: [DEAD_ADDRESSES[0]] });
  }
});
after(() => deployment.stop());

const reasonOf = async (address: string) => (await api.verify(key, address)).body.reason;
const isDown = async () => /^rcpt_our_network_down 1$/m.test(await api.metrics());

describe("our own network", () => {
  it("is suspected when several sites fail, and blamed from then on", async () => {
    assert.equal(await isDown(), false);
    for (let i = 0; i < 4; i++) assert.equal(await reasonOf(`a@cut${i}.test`), "no_connect");
    // The word goes through the main thread; from then on nobody is dialled but by one trial every few seconds.
    const answers: string[] = [];
    for (let i = 0; i < 40 && !answers.includes("our_network"); i++)
      answers.push(await reasonOf(`b${i}@cut4.test`));
    assert.equal(answers.at(-1), "our_network");
    assert.equal(await isDown(), true);
    const { body } = await api.verify(key, "c@cut5.test", "&evidence=true");
    assert.equal(body.verdict, "unknown");
    if (body.reason === "our_network") {
      assert.deepEqual([body.checks.smtp.fault, body.cache_ttl_seconds], ["our_network", 30]);
    }
  });

  it("is found well again by a trial, after which everybody is asked as before", async () => {
    let round = 0;
    while ((await reasonOf(`exists${round}@plain.test`)) === "our_network") {
      round += 1;
      assert.ok(round < 100_000, "no trial went out");
    }
    assert.equal(await reasonOf("exists-after@plain.test"), "accepted_mailbox");
    assert.equal(await isDown(), false);
    assert.equal(await reasonOf("missing-after@plain.test"), "mailbox_not_found");
  });

  it("is not blamed for one dead server among live ones", async () => {
    for (let i = 0; i < 6; i++) {
      assert.equal(await reasonOf(`d${i}@dead.test`), "no_connect");
      assert.equal(await reasonOf(`exists-d${i}@plain.test`), "accepted_mailbox");
    }
    assert.equal(await isDown(), false);
  });
});
