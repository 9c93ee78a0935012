import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { saysNoReason } from "../../../../src/verification/classify/silence.ts";
import fc from "../../../support/properties.ts";

describe("a refusal that gives no reason", () => {
  const silent = [
    "5.1.1 *@*: recipient rejected",
    "5.1.1 *@*: recipient address rejected: example.com",
    "#5.1.0 address rejected *@*",
    "5.1.1 sid=xyz address rejected *@*.[r0107005]",
    "5.1.1 unable to deliver to *@*",
    "5.4.1 recipient address rejected: access denied. as(201806281)",
    "5.1.1 requested action not taken: mailbox unavailable",
    "5.1.1 user un",
    "5.1.1 *@*: recipient addr",
    "5.1.1",
    "",
  ];
  for (const prose of silent) it(`is "${prose}"`, () => assert.ok(saysNoReason(prose)));

  const reasons = [
    "5.1.1 *@*: access denied",
    "5.1.1 address rejected 198.51.100.9",
    "5.4.1 recipient address rejected: access denied by rule",
    "5.1.1 recipient is on vacation",
    "5.1.1 mailbox unavailable - rejected by rule",
    "5.1.1 mailbox unavailable. your message was refused",
    "5.1.1 forwarding disabled for this account",
    "5.1.1 пользователь занят",
    "5.1.1 用户忙",
  ];
  for (const prose of reasons) it(`is not "${prose}"`, () => assert.ok(!saysNoReason(prose)));

  it("stays none when a word for a reason is added anywhere but at its cut end", () => {
    const word = fc.constantFrom(
      "recipient",
      "rejected",
      "mailbox",
      "address",
      "unavailable",
      "*@*",
      "5.1.1",
    );
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 20 }),
        fc.array(word, { minLength: 1, maxLength: 20 }),
        (a, b) => {
          assert.ok(saysNoReason([...a, ...b].join(" ")));
          assert.ok(!saysNoReason([...a, "reputation", ...b, "mailbox"].join(" ")));
        },
      ),
      { numRuns: 200, seed: 511 },
    );
  });
});
