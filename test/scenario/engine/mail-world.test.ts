import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { AdditiveResult, ContractResult } from "../../support/contract.ts";
import { waitForPostgres } from "../../support/limits.ts";
import { EXPECTATIONS } from "../../support/mail-world/behaviours.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/**
 * The service against every behaviour of the mail world: one request an address, over HTTP, by a team with probing.
 * Hosts that hold the client until its own timeout are answered at the deadline here; tests of SMTP sessions, on a fake
 * clock, show their final result.
 */
const ASKED = EXPECTATIONS.filter((row) => row.needs === undefined && row.holds !== true);

const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let key: string;

before(async () => {
  waitForPostgres(closing);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi({ VERIFY_DEADLINE_MS: "60000" });
  key = (await deployment.team("enterprise")).liveKey;
});
after(closing.close);

describe("every behaviour of the mail world", () => {
  for (const { address, expected, why } of ASKED) {
    it(`${address} is ${expected.verdict}, ${expected.reason}: ${why}`, async () => {
      const { status, body } = await api.verify(key, address, "&evidence=true");
      assert.equal(status, 200);
      assert.deepEqual(
        { verdict: body.verdict, reason: body.reason },
        expected,
        `evidence: ${JSON.stringify(body.evidence)}`,
      );
      v.assert(ContractResult, body);
      v.assert(AdditiveResult, body);
      assert.equal(body.cached, false);
    });
  }

  it("smuggles nothing and is always in turn, whatever a server does", () => {
    for (const host of deployment.world.hosts()) {
      const { malformed, outOfTurn, maxRecipientsPerTransaction } = host.account;
      assert.deepEqual([malformed, outOfTurn], [0, 0], host.name);
      assert.ok(maxRecipientsPerTransaction <= 1, `${host.name}: several recipients in one transaction`);
    }
  });

  it("never dials a host that only forged answers named", () => {
    assert.equal(deployment.world.host("mx.trap.test").account.connections, 0);
  });
});
