import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import {
  messageBody,
  newSigningSecret,
  signatureHeaders,
  testSigningSecret,
} from "../../../../src/features/webhooks/signature.ts";
import fc from "../../../support/properties.ts";

const now = () => Math.floor(Date.now() / 1_000);
const message = (body: string) => ({ id: "evt_1", timestampS: now(), body });

describe("the signature of a delivery", () => {
  it("is what receivers verify with the public package, whatever the body", () => {
    const secret = newSigningSecret();
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
        const body = JSON.stringify(data);
        const verified = new Webhook(secret).verify(body, signatureHeaders(message(body), [secret]));
        assert.deepEqual(verified, JSON.parse(body));
      }),
    );
  });

  it("fails for another body, id, time or secret", () => {
    const secret = newSigningSecret();
    const headers = signatureHeaders(message("{}"), [secret]);
    const receiver = new Webhook(secret);
    assert.throws(() => receiver.verify("{} ", headers), /signature/);
    assert.throws(() => receiver.verify("{}", { ...headers, "webhook-id": "evt_2" }), /signature/);
    const later = { ...headers, "webhook-timestamp": String(now() + 1) };
    assert.throws(() => receiver.verify("{}", later), /signature/);
    assert.throws(() => new Webhook(newSigningSecret()).verify("{}", headers), /signature/);
  });

  it("is there by each of two secrets during a rotation", () => {
    const [next, old] = [newSigningSecret(), newSigningSecret()];
    const headers = signatureHeaders(message("{}"), [next, old]);
    for (const secret of [next, old]) assert.deepEqual(new Webhook(secret).verify("{}", headers), {});
  });

  it("by a team's test secret is not one by its secret, and the other way round", () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const test = testSigningSecret(secret);
    // As documented: `rcpt test` by the key.
    assert.equal(test, "whsec_IfgN0PCIbltvt9vUfTJCeq4WCkiZBI+WqJjEQa1vLKY=");
    const ofTest = signatureHeaders(message("{}"), [test]);
    assert.deepEqual(new Webhook(test).verify("{}", ofTest), {});
    assert.throws(() => new Webhook(secret).verify("{}", ofTest), /signature/);
    assert.throws(
      () => new Webhook(test).verify("{}", signatureHeaders(message("{}"), [secret])),
      /signature/,
    );
  });

  it("is made with 32 random bytes", () => {
    const secret = newSigningSecret();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(secret, newSigningSecret());
  });
});

describe("the body of a delivery", () => {
  it("names the event, its kind and time, and whether it is real", () => {
    const body = messageBody({
      event_id: "evt_1",
      event_type: "bulk.completed",
      event_at: new Date("2026-01-02T03:04:05.678Z"),
      livemode: false,
      data: { job_id: "job_1" },
    });
    assert.deepEqual(JSON.parse(body), {
      id: "evt_1",
      type: "bulk.completed",
      timestamp: "2026-01-02T03:04:05.678Z",
      livemode: false,
      data: { job_id: "job_1" },
    });
  });
});
