import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mayBeCrowded, saysCrowded } from "../../../../src/smtp/session/crowding.ts";
import type { SessionEnd } from "../../../../src/smtp/wire/handshake.ts";
import type { SmtpReply } from "../../../../src/smtp/wire/reply.ts";

const reply = (code: number, ...lines: string[]) => ({ code, enhanced: null, lines });

const isCrowded = (answer: SmtpReply, stage: "greeting" | "ehlo" | "mail" | "rcpt" = "greeting") =>
  saysCrowded({ kind: "reply", stage, reply: answer });

describe("too many connections", () => {
  it("are recognised by the server's words", () => {
    for (const text of [
      "4.7.0 mx.example.com Error: too many connections from 192.0.2.1",
      "Too many concurrent SMTP connections; please try again later.",
      "4.3.2 The maximum number of concurrent server connections has exceeded a limit, closing transmission channel",
      "4.7.0 Too many concurrent connections from your IP",
      "mx.example.com connection limit exceeded",
      "Too many sessions from your host",
      "4.7.0 Connections exceeded",
    ])
      assert.equal(isCrowded(reply(421, text)), true, text);
    assert.equal(isCrowded(reply(554, "too many", "connections")), true, "over two lines");
  });

  it("are not what other refusals are about", () => {
    for (const text of [
      "4.7.0 Too many errors",
      "4.7.1 Too many messages from your host, please slow down",
      "4.3.2 Service not available, closing transmission channel",
      "4.4.2 Connection timed out",
      "4.2.0 Greylisted",
      "4.7.0 Connection refused, your IP is listed",
      "5.1.1 User unknown",
    ])
      assert.equal(isCrowded(reply(421, text)), false, text);
    assert.equal(isCrowded(reply(250, "2.0.0 too many connections is what I like")), false);
  });

  it("count in a temporary refusal once an address was sent, not in a permanent one", () => {
    const words = "Too many connections, try again later";
    for (const stage of ["mail", "rcpt"] as const) {
      assert.equal(isCrowded(reply(421, words), stage), true);
      assert.equal(isCrowded(reply(450, `<a@x.test>: ${words}`), stage), true);
      assert.equal(isCrowded(reply(550, words), stage), false);
    }
    assert.equal(isCrowded(reply(554, words), "ehlo"), true);
  });

  it("are not what an address says that is repeated", () => {
    for (const words of [
      '<"too many connections"@x.test>: greylisted',
      "too many connections@x.test: greylisted",
      '"too many connections": greylisted',
    ])
      assert.equal(isCrowded(reply(421, words), "rcpt"), false, words);
    const unknown = { code: 450, enhanced: "4.1.1", lines: ["4.1.1 too many connections unknown"] };
    assert.equal(isCrowded(unknown, "rcpt"), false);
  });

  it("take no longer to look for in what is long", () => {
    const lines = ["too many a b ".repeat(5_000), "concurrent a b ".repeat(5_000)];
    assert.equal(isCrowded(reply(421, ...lines)), false);
  });

  it("may be the cause of a refusal beside working sessions", () => {
    const failure = (
      stage: "connect" | "ehlo" | "starttls",
      cause: "refused" | "timeout" | "tls" | "proxy",
    ) => mayBeCrowded({ kind: "failure", stage, cause, detail: "" } satisfies SessionEnd);
    assert.equal(mayBeCrowded({ kind: "reply", stage: "greeting", reply: reply(421, "Busy") }), true);
    assert.equal(mayBeCrowded({ kind: "reply", stage: "greeting", reply: reply(554, "No") }), false);
    assert.deepEqual([failure("connect", "refused"), failure("connect", "timeout")], [true, true]);
    assert.deepEqual([failure("connect", "proxy"), failure("starttls", "tls")], [false, false]);
  });
});
