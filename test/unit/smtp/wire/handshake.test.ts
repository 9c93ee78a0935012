import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Handshake } from "../../../../src/smtp/wire/handshake.ts";
import { parseHeloName } from "../../../../src/smtp/wire/mailbox.ts";
import type { TlsPolicy } from "../../../../src/smtp/wire/policy.ts";
import type { SmtpReply } from "../../../../src/smtp/wire/reply.ts";

const NAME = parseHeloName("probe.test") ?? assert.fail();
const reply = (code: number, ...lines: string[]): SmtpReply => ({ code, enhanced: null, lines });
const OFFER = reply(250, "mx", "PIPELINING", "starttls", "SIZE 10240000", "SMTPUTF8");
const PLAIN_OFFER = reply(250, "mx", "PIPELINING");
const EHLO = { do: "write", text: "EHLO probe.test\r\n" };
const HELO = { do: "write", text: "HELO probe.test\r\n" };

function greeted(tls: TlsPolicy): Handshake {
  const handshake = new Handshake(NAME, tls);
  assert.deepEqual(handshake.accept(reply(220, "mx")), EHLO);
  return handshake;
}

describe("the handshake", () => {
  it("is ready after EHLO where TLS is neither offered nor demanded", () => {
    const handshake = greeted("opportunistic");
    assert.deepEqual(handshake.accept(PLAIN_OFFER), { do: "ready" });
    assert.deepEqual(handshake.capabilities, { pipelining: true, starttls: false, smtputf8: false });
  });

  it("does not use TLS that it must not use", () => {
    assert.deepEqual(greeted("never").accept(OFFER), { do: "ready" });
  });

  it("sends EHLO again under TLS and forgets replies in clear", () => {
    const handshake = greeted("opportunistic");
    assert.deepEqual(handshake.accept(OFFER), { do: "write", text: "STARTTLS\r\n" });
    assert.deepEqual(handshake.accept(reply(220, "go")), { do: "starttls" });
    assert.deepEqual(handshake.onSecured(), EHLO);
    assert.equal(handshake.capabilities.smtputf8, false);
    assert.deepEqual(handshake.accept(reply(250, "mx")), { do: "ready" });
    assert.deepEqual(handshake.capabilities, { pipelining: false, starttls: false, smtputf8: false });
  });

  it("goes on in clear when STARTTLS is refused, unless TLS is required", () => {
    const refusal = reply(454, "not now");
    const opportunistic = greeted("opportunistic");
    opportunistic.accept(OFFER);
    assert.deepEqual(opportunistic.accept(refusal), { do: "ready" });
    const required = greeted("required");
    required.accept(OFFER);
    const end = { kind: "reply", stage: "starttls", reply: refusal };
    assert.deepEqual(required.accept(refusal), { do: "end", end });
  });

  it("fails at starttls when required TLS is not offered", () => {
    const step = greeted("required").accept(PLAIN_OFFER);
    assert.ok(step.do === "end" && step.end.kind === "failure");
    assert.deepEqual([step.end.stage, step.end.cause], ["starttls", "tls"]);
  });

  it("falls back to HELO once, without capabilities", () => {
    const handshake = greeted("opportunistic");
    assert.deepEqual(handshake.accept(reply(502, "what?")), HELO);
    assert.deepEqual(handshake.accept(reply(250, "PIPELINING", "PIPELINING")), { do: "ready" });
    assert.equal(handshake.capabilities.pipelining, false);
    const twice = greeted("opportunistic");
    twice.accept(reply(502, "what?"));
    const refusal = reply(550, "go away");
    assert.deepEqual(twice.accept(refusal), {
      do: "end",
      end: { kind: "reply", stage: "ehlo", reply: refusal },
    });
  });

  it("takes 4xx, 421, 521 and 556 to EHLO as final (RFC 7504)", () => {
    for (const code of [421, 451, 521, 556]) {
      const refusal = reply(code, "no");
      const end = { kind: "reply", stage: "ehlo", reply: refusal };
      assert.deepEqual(greeted("never").accept(refusal), { do: "end", end });
    }
  });

  it("ends at a greeting that refuses, and at one that makes no sense", () => {
    const refusal = reply(554, "blocked");
    const end = { kind: "reply", stage: "greeting", reply: refusal };
    assert.deepEqual(new Handshake(NAME, "never").accept(refusal), { do: "end", end });
    const step = new Handshake(NAME, "never").accept(reply(250, "hm"));
    assert.ok(step.do === "end" && step.end.kind === "failure" && step.end.cause === "protocol");
  });
});
