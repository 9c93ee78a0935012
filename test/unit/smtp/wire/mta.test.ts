import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultLimitsOf, detectMta, UNKNOWN_MTA_LIMITS } from "../../../../src/smtp/wire/mta.ts";
import type { SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import fc from "../../../support/properties.ts";

const reply = (code: number, ...lines: string[]): SmtpReply => ({ code, enhanced: null, lines });
const hello = (...offered: string[]) => reply(250, "mx.example.com", ...offered);

describe("the software of a mail server", () => {
  for (const [greeting, expected] of [
    ["mx.example.com ESMTP Postfix", "postfix"],
    ["mx.example.com ESMTP Postfix (Debian/GNU)", "postfix"],
    ["mx.example.com ESMTP Exim 4.96 Fri, 27 Nov 2026 12:00:00 +0000", "exim"],
    ["mail.example.com ESMTP OpenSMTPD", "opensmtpd"],
    ["EX01.example.com Microsoft ESMTP MAIL Service ready at Fri, 27 Nov 2026 12:00:00 +0000", "exchange"],
    ["mx ESMTP", null],
    ["*******************************", null],
    ["mx.google.com ESMTP a1-20020a170902.1 - gsmtp", null],
    ["postfixes.example.com ESMTP", null],
    ["", null],
  ] as const)
    it(`is read from "${greeting}"`, () => assert.equal(detectMta(reply(220, greeting), null), expected));

  for (const [offered, expected] of [
    [
      ["PIPELINING", "SIZE 10240000", "VRFY", "ETRN", "STARTTLS", "ENHANCEDSTATUSCODES", "8BITMIME", "DSN"],
      "postfix",
    ],
    [["PIPELINING", "SIZE 52428800", "ETRN", "STARTTLS", "8BITMIME"], "postfix"],
    [["SIZE 52428800", "8BITMIME", "PIPELINING", "PIPECONNECT", "CHUNKING", "PRDR", "HELP"], "exim"],
    [["SIZE 37748736", "PIPELINING", "DSN", "X-ANONYMOUSTLS", "AUTH NTLM", "X-EXPS GSSAPI NTLM"], "exchange"],
    [["ENHANCEDSTATUSCODES", "PIPELINING", "8BITMIME", "SIZE", "DSN", "ETRN", "DELIVERBY", "HELP"], null],
    [["PIPELINING", "8BITMIME"], null],
    [[], null],
  ] as const)
    it(`shows behind a masked greeting by ${offered.join(", ") || "nothing"}`, () =>
      assert.equal(detectMta(reply(220, "mx ESMTP"), hello(...offered)), expected));

  it("is of no server that says nothing, and begins prudently", () => {
    assert.equal(detectMta(null, null), null);
    assert.equal(defaultLimitsOf(null), UNKNOWN_MTA_LIMITS);
    assert.equal(defaultLimitsOf("postfix"), defaultLimitsOf("postfix"));
    assert.ok(UNKNOWN_MTA_LIMITS.rejections < defaultLimitsOf("postfix").rejections);
  });

  it("is read from any bytes without an error", () =>
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (greeting, offered) => {
        const { rejections, transactions } = defaultLimitsOf(
          detectMta(reply(220, ...greeting), hello(...offered)),
        );
        assert.ok(rejections >= 1 && transactions >= 1);
      }),
    ));
});
