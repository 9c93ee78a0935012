import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createReplyParser, type SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import fc from "../../../support/properties.ts";

function parse(...chunks: (string | Buffer)[]) {
  const parser = createReplyParser();
  const replies: SmtpReply[] = [];
  for (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk;
    const fault = parser.push(bytes, (reply) => replies.push(reply) > 0);
    if (fault) return { fault, replies, pending: parser.hasPending };
  }
  return { fault: null, replies, pending: parser.hasPending };
}

function one(text: string): SmtpReply {
  const { fault, replies, pending } = parse(text);
  assert.deepEqual({ fault, pending }, { fault: null, pending: false });
  return replies[0] ?? assert.fail("no reply");
}

describe("the reply parser", () => {
  it("reads single and multi-line replies", () => {
    assert.deepEqual(one("250 2.1.5 Ok\r\n"), { code: 250, enhanced: "2.1.5", lines: ["2.1.5 Ok"] });
    assert.deepEqual(one("250-mx\r\n250-PIPELINING\r\n250 SIZE 1\r\n").lines, ["mx", "PIPELINING", "SIZE 1"]);
  });

  it("tolerates what real servers send: bare LF, a bare code, no space after the code", () => {
    assert.deepEqual(one("250 Ok\n").lines, ["Ok"]);
    assert.deepEqual(one("250\r\n").lines, [""]);
    assert.deepEqual(one("250\n").lines, [""]);
    assert.deepEqual(one("250OK\r\n").lines, ["OK"]);
    assert.equal(one("571 Blocked\r\n").code, 571);
  });

  it("keeps bytes that are not ASCII, as Latin-1", () => {
    assert.deepEqual(one("550 5.1.1 bo\xeete\r\n").lines, ["5.1.1 bo\xeete"]);
  });

  it("takes the first enhanced code that fits the reply code", () => {
    assert.equal(one("550-Sorry\r\n550 5.1.1 unknown\r\n").enhanced, "5.1.1");
    assert.equal(one("550 #5.1.0 Address rejected\r\n").enhanced, "5.1.0");
    assert.equal(one("550 5.7.606 Access denied\r\n").enhanced, "5.7.606");
    assert.equal(one("450 5.1.1 odd\r\n").enhanced, null);
    assert.equal(one("550 5.1.1.2 listed\r\n").enhanced, null);
    assert.equal(one("550 Unrouteable address\r\n").enhanced, null);
  });

  it("takes a greeting that is taken back for the refusal, as postscreen says it", () => {
    const greeting = "220-mx.example.com ESMTP Postfix\r\n521 5.7.1 Service unavailable; client blocked\r\n";
    assert.deepEqual(one(greeting), {
      code: 521,
      enhanced: "5.7.1",
      lines: ["5.7.1 Service unavailable; client blocked"],
    });
    for (const other of [
      "220-mx\r\n250 ok\r\n",
      "220-mx\r\n220-mx\r\n354 go\r\n",
      "250-mx\r\n550 no\r\n",
      "220-mx\r\n521-no\r\n220 mx\r\n",
    ])
      assert.equal(parse(other).fault, "protocol", JSON.stringify(other));
  });

  it("calls anything else a protocol fault", () => {
    for (const text of [
      "SSH-2.0-x\r\n",
      "\r\n",
      "150 early\r\n",
      "650 late\r\n",
      "2500 long\r\n",
      "250-a\r\n251 b\r\n",
      "250-a\r\nb\r\n",
    ])
      assert.equal(parse(text).fault, "protocol", JSON.stringify(text));
  });

  it("is bounded by line, by lines and in all", () => {
    assert.equal(parse("220 ".padEnd(LIMITS.smtp.replyLineBytes + 1, "x")).fault, "reply_too_long");
    assert.equal(parse("250-x\r\n".repeat(LIMITS.smtp.replyLines + 1)).fault, "reply_too_long");
    const line = `250-${"x".repeat(LIMITS.smtp.replyLineBytes - 10)}\r\n`;
    assert.equal(parse(line.repeat(20)).fault, "reply_too_long");
  });

  it("stops where the reader says so and drops the rest", () => {
    const parser = createReplyParser();
    let replies = 0;
    parser.push(Buffer.from("220 a\r\n250 injected\r\n250 inj"), () => ++replies > 1);
    assert.deepEqual([replies, parser.hasPending], [1, false]);
  });

  it("reads no further than what has come: behind it are the bytes of an earlier read", () => {
    const parser = createReplyParser();
    const buffer = Buffer.alloc(64);
    const replies: string[] = [];
    for (const text of ["250 2.1.5 first of all\r\n", "250 2.1.5 Ok\r\n", "550 5.1.1 no", "ne\r\n"]) {
      const length = buffer.write(text, "latin1");
      assert.equal(
        parser.push(buffer, ({ code, lines }) => replies.push(`${code} ${lines}`) > 0, length),
        null,
      );
    }
    assert.deepEqual(replies, ["250 2.1.5 first of all", "250 2.1.5 Ok", "550 5.1.1 none"]);
    assert.equal(parser.hasPending, false);
  });

  it("reads the same however the bytes are cut", () => {
    const text = "250-a\r\n250 b\r\n550 5.1.1 c\n421\r\n".repeat(3);
    const whole = parse(text).replies;
    assert.equal(whole.length, 9);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 }), (sizes) => {
        const chunks: string[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(text.slice(at, at + size));
          at += size;
        }
        chunks.push(text.slice(at));
        assert.deepEqual(parse(...chunks).replies, whole);
      }),
    );
  });

  it("never throws and never holds more than its bounds, whatever comes", () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.stringMatching(/^[2-5][0-9]{2}[ -][ -~]{0,20}\r?\n$/).map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 20 }), (chunks) => {
        for (const reply of parse(...chunks).replies) {
          assert.ok(reply.code >= 200 && reply.code <= 599);
          assert.ok(reply.lines.length >= 1 && reply.lines.length <= LIMITS.smtp.replyLines);
          assert.ok(reply.lines.every((line) => !line.includes("\n")));
        }
      }),
    );
  });
});
