import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { RcptError, webhooks } from "../../../packages/client/src/index.ts";
import { messageBody, newSigningSecret, signatureHeaders } from "../../../src/features/webhooks/signature.ts";

const nowS = () => Math.floor(Date.now() / 1_000);
const body = messageBody({
  event_id: "evt_1",
  event_type: "ping",
  event_at: new Date(),
  livemode: false,
  data: { name: "Zoë" },
});
const [secret, other] = [newSigningSecret(), newSigningSecret()];
const signed = (secrets: string[], timestampS = nowS()) =>
  signatureHeaders({ id: "evt_1", timestampS, body }, secrets);

async function refusal(call: Promise<unknown>): Promise<RcptError> {
  const error = await call.then(
    () => assert.fail("it is taken"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RcptError, String(error));
  return error;
}

describe("a delivery", () => {
  it("is its event when the service has signed it, in whatever form it comes", async () => {
    const headers = signed([secret]);
    const bytes = new TextEncoder().encode(body);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const raw of [body, bytes, bytes.buffer])
      for (const given of [headers, new Headers(headers), upper]) {
        const event = await webhooks.verify(raw, given, secret);
        assert.equal(event.id, "evt_1");
        assert.equal(event.type, "ping");
        assert.deepEqual(event.data, { name: "Zoë" });
      }
  });

  it("is genuine by either secret of a rotation", async () => {
    await webhooks.verify(body, signed([other, secret]), secret);
    await webhooks.verify(body, signed([secret]), [other, secret]);
  });

  it("is what the standard's own library signs", async () => {
    const at = new Date();
    const signature = new Webhook(secret).sign("evt_1", at, body);
    const timestamp = String(Math.floor(at.getTime() / 1_000));
    const headers = { "webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": signature };
    assert.equal((await webhooks.verify(body, headers, secret)).type, "ping");
  });

  it("is refused when it is another's, changed, too old or too early", async () => {
    const headers = signed([secret]);
    const forged = [
      () => webhooks.verify(body, headers, other),
      () => webhooks.verify(`${body} `, headers, secret),
      () => webhooks.verify(body, { ...headers, "webhook-id": "evt_2" }, secret),
      () => webhooks.verify(body, { ...headers, "webhook-signature": "v1,AAAA v1,? v2,x" }, secret),
      () => webhooks.verify(body, { ...headers, "webhook-signature": undefined }, secret),
      () => webhooks.verify(body, signed([secret], nowS() - 301), secret),
      () => webhooks.verify(body, signed([secret], nowS() + 310), secret),
      () => webhooks.verify(body, { ...headers, "webhook-timestamp": "1e9" }, secret),
    ];
    for (const call of forged) assert.equal((await refusal(call())).code, "invalid_signature");
    await webhooks.verify(body, signed([secret], nowS() - 301), secret, { toleranceS: 400 });
  });

  it("is verified with a secret, and nothing else", async () => {
    await assert.rejects(webhooks.verify(body, signed([secret]), ""), TypeError);
    await assert.rejects(webhooks.verify(body, signed([secret]), "whsec_?"), TypeError);
  });
});
