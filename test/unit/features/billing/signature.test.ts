import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { verifySignature } from "../../../../src/features/billing/signature.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import fc from "../../../support/properties.ts";
import { signedHeaders, WEBHOOK_SECRET } from "../../../support/stripe-events.ts";

const clock = createFakeClock();
const payload = JSON.stringify({ id: "evt_1", note: "ünïcödé" });

/** Whether a header is accepted for a body. @throws errors other than refusals */
function passes(header: string, body: Uint8Array = Buffer.from(payload), secret = WEBHOOK_SECRET): boolean {
  try {
    verifySignature({ header, body, secret }, clock);
    return true;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "invalid_signature", String(error));
    return false;
  }
}

function headerAt(ageS: number): string {
  return signedHeaders(payload, { atMs: clock.now() - ageS * 1000 })["Stripe-Signature"] ?? "";
}

/** Over any bytes, as the scheme says. */
function sign(body: Uint8Array): string {
  const timestamp = clock.now() / 1000;
  const signature = createHmac("sha256", WEBHOOK_SECRET).update(`${timestamp}.`).update(body).digest("hex");
  return `t=${timestamp},v1=${signature}`;
}

describe("a signature", () => {
  it("of Stripe's own library passes, over any body", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "binary" }), (text) => {
        const header = signedHeaders(text, { atMs: clock.now() })["Stripe-Signature"] ?? "";
        assert.equal(passes(header, Buffer.from(text)), true);
      }),
    );
  });

  it("covers the bytes, not the text that they decode to", () => {
    const [invalid, replaced] = [Buffer.from([0x7b, 0xff, 0x7d]), Buffer.from("{\ufffd}")];
    assert.equal(passes(sign(invalid), invalid), true);
    assert.equal(passes(sign(replaced), invalid), false);
    const withMark = Buffer.from(`\ufeff${payload}`);
    assert.equal(passes(sign(withMark), withMark), true);
    assert.equal(passes(sign(Buffer.from(payload)), withMark), false);
  });

  it("of another body or secret does not pass", () => {
    assert.equal(passes(headerAt(0), Buffer.from(`${payload} `)), false);
    assert.equal(passes(headerAt(0), Buffer.from(payload), "whsec_another_secret"), false);
  });

  it("passes for five minutes, and not when it is further ahead either", () => {
    for (const [ageS, good] of [
      [0, true],
      [300, true],
      [301, false],
      [-300, true],
      [-301, false],
    ] as const)
      assert.equal(passes(headerAt(ageS)), good, `${ageS} s old`);
  });

  it("may be one of several, while secrets are changed", () => {
    const [timestamp, good] = headerAt(0).split(",");
    const other = `v1=${"0".repeat(64)}`;
    assert.equal(passes(`${timestamp},${other},${good}`), true);
    assert.equal(passes(`${timestamp},${other}`), false);
    assert.equal(passes(`${timestamp},${good?.replace("v1=", "v0=")}`), false);
  });

  it("that is missing or malformed does not pass", () => {
    const good = headerAt(0);
    const [timestamp = "", signature = ""] = good.split(",");
    for (const header of ["", ",", "t=,v1=", "t=1", signature, timestamp, good.slice(0, -1), `${good}0`])
      assert.equal(passes(header), false, header);
    fc.assert(fc.property(fc.string(), (header) => assert.equal(passes(header), false)));
    fc.assert(fc.property(fc.string(), (rest) => assert.equal(passes(`${timestamp},v1=${rest}`), false)));
  });
});
