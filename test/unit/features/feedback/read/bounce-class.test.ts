import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BounceStatement,
  classifyBounce,
} from "../../../../../src/features/feedback/read/bounce-class.ts";
import fc from "../../../../support/properties.ts";

const classOf = (statement: Partial<BounceStatement>) => {
  const { reason, hard } = classifyBounce({
    reply: "",
    enhancedCode: null,
    permanent: null,
    mxHost: "",
    ...statement,
  });
  return [reason, hard];
};

describe("why a message bounced", () => {
  const REPLIES: [said: string, reason: string, hard: boolean][] = [
    ["550 5.1.1 User unknown", "mailbox_not_found", true],
    ["smtp; 550-5.1.1 The account does not exist 550 5.1.1 try again", "mailbox_not_found", true],
    [
      "host mx.b.example[192.0.2.1] said: 550 5.1.1 <a@b.example>: User unknown (in reply to RCPT TO command)",
      "mailbox_not_found",
      true,
    ],
    [
      "SMTP error from remote mail server after RCPT TO:<a@b.example>: 550 no such user",
      "mailbox_not_found",
      true,
    ],
    ["552 5.2.2 The recipient's inbox is out of storage space", "mailbox_full", false],
    ["550 5.2.1 This account has been disabled", "mailbox_disabled", true],
    ["554 5.7.1 Message rejected as spam", "refused_by_policy", false],
    ["550 5.7.1 Service unavailable, client host [192.0.2.9] blocked using an RBL", "sender_blocked", false],
    [
      "X-Postfix; Host or domain name not found. Name service error for name=b.example type=A",
      "domain_not_found",
      true,
    ],
    ["smtp; 550 5.4.310 DNS domain b.example does not exist", "domain_not_found", true],
  ];
  for (const [reply, reason, hard] of REPLIES)
    it(`is ${reason} of: ${reply.slice(0, 60)}`, () => assert.deepEqual(classOf({ reply }), [reason, hard]));

  it("is read from the code alone where there are no words", () => {
    assert.deepEqual(classOf({ enhancedCode: "5.1.1" }), ["mailbox_not_found", true]);
    assert.deepEqual(classOf({ enhancedCode: "5.2.2" }), ["mailbox_full", false]);
    assert.deepEqual(classOf({ enhancedCode: "4.4.7" }), ["timeout", false]);
  });

  it("is the sender's own judgement only where nothing else is said", () => {
    assert.deepEqual(classOf({ permanent: true }), ["unspecified", true]);
    assert.deepEqual(classOf({ permanent: false }), ["unspecified", false]);
    assert.deepEqual(classOf({}), ["unspecified", false]);
    assert.deepEqual(classOf({ reply: "552 5.2.2 mailbox full", permanent: true }), ["mailbox_full", false]);
  });

  it("is no acceptance", () => {
    assert.deepEqual(classOf({ reply: "250 2.1.5 OK" }), ["unspecified", false]);
  });

  it("is one class for any text, quickly", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 3_000 }),
        fc.string({ maxLength: 20 }),
        (reply, code) => {
          const found = classifyBounce({ reply, enhancedCode: code, permanent: null, mxHost: reply });
          assert.ok(typeof found.reason === "string" && typeof found.hard === "boolean");
        },
      ),
    );
  });
});
