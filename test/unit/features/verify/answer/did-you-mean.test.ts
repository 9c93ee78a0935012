import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderResult } from "../../../../../src/features/verify/answer/render-result.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import { decide } from "../../../../../src/verification/verdict/verdict.ts";

/** The result of a check that found nothing out. */
function resultOf(email: string) {
  const parsed = parseAddress(email);
  const address = parsed.ok ? parsed.address : null;
  const decision = decide({ address, evidence: null, failure: "deadline", probing: true, blocked: false });
  return renderResult({
    email,
    address,
    addresses: 0,
    decision,
    entry: null,
    now: 0,
    cached: false,
    livemode: true,
    withEvidence: false,
  });
}

describe("did_you_mean in a result", () => {
  const cases: [email: string, meant: string | null][] = [
    ["Jane@gmial.com", "Jane@gmail.com"],
    ["jane@gmailcom", "jane@gmail.com"],
    ["jane@gmail,com", "jane@gmail.com"],
    ["jane@web.d", "jane@web.de"],
    ["jane@gmail.com", null],
    ["jane@gmail.com”", "jane@gmail.com"],
    ["jane@gmail.com/", "jane@gmail.com"],
    ["jane @gmail.com", "jane@gmail.com"],
    ["jane@gmail. com ", "jane@gmail.com"],
    ["jane@corp.example/", "jane@corp.example"],
    ["jane@gmial.com/", "jane@gmail.com"],
    ["Jane Doe @gmail.com", null],
    ["jane,doe@gmail.com", null],
    ["jane@example.c", null],
    ["jane", null],
    ["", null],
  ];
  for (const [email, meant] of cases)
    it(`${email}: ${meant}`, () => assert.equal(resultOf(email).did_you_mean, meant));

  it("is a hint: a malformed address remains malformed", () => {
    const { verdict, reason, email } = resultOf("jane@gmailcom");
    assert.deepEqual([verdict, reason, email], ["invalid", "invalid_format", "jane@gmailcom"]);
  });
});
