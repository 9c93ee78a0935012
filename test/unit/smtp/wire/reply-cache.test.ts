import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createReplyParser, type SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import { ReplyCache } from "../../../../src/smtp/wire/reply-cache.ts";
import fc from "../../../support/properties.ts";

/** All replies of the chunks, and what the parser made of the rest. */
function read(chunks: readonly Buffer[]) {
  const parser = createReplyParser();
  const replies: SmtpReply[] = [];
  for (const chunk of chunks) {
    const fault = parser.push(chunk, (reply) => replies.push(reply) > 0);
    if (fault !== null) return { replies, fault, pending: false };
  }
  return { replies, fault: null, pending: parser.hasPending };
}

const line = fc.oneof(
  fc.constantFrom(
    "250 2.1.5 Ok\r\n",
    "550 5.1.1 User unknown\r\n",
    "250-a\r\n250 b\n",
    "421\r\n",
    "250 Ok\n",
  ),
  fc.constantFrom("550 5.1.1 <a@b.test> unknown\r\n", "55x\r\n", "354 go\r\n", "250 2.1.5 Ok \r\n"),
  fc.string({ maxLength: 200 }).map((text) => `550 ${text.replaceAll(/[\r\n]/g, "")}\r\n`),
);

describe("replies that were read before", () => {
  it("are read as they were the first time, whole or in pieces", () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 12 }),
        fc.array(fc.nat(400), { maxLength: 6 }),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.join(""), "latin1");
          const at = [...new Set(cuts.filter((cut) => cut < bytes.length))].sort((a, b) => a - b);
          const pieces = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
          const once = read([bytes]);
          assert.deepEqual(read(pieces), once);
          assert.deepEqual(read([bytes]), once);
        },
      ),
    );
  });

  it("are one object, which is frozen", () => {
    const [first] = read([Buffer.from("250 2.1.5 One of its kind\r\n")]).replies;
    const [second] = read([Buffer.from("250 2.1.5 One of its kind\r\n")]).replies;
    assert.equal(first, second);
    assert.ok(Object.isFrozen(first) && Object.isFrozen(first?.lines));
  });

  it("are not kept with an address, nor when they are long", () => {
    for (const text of ["550 5.1.1 <a@b.test> unknown\r\n", `550 ${"x".repeat(200)}\r\n`]) {
      const [first] = read([Buffer.from(text)]).replies;
      const [second] = read([Buffer.from(text)]).replies;
      assert.deepEqual(first, second);
      assert.notEqual(first, second);
      assert.ok(!Object.isFrozen(first), "what is made of it is not kept either");
    }
  });

  it("give way to others that have the same place", () => {
    const known = new ReplyCache<SmtpReply>();
    const replyOf = (i: number): SmtpReply => ({ code: 250, enhanced: null, lines: [`n${i}`] });
    const chunkOf = (i: number) => Buffer.from(`250 n${i}\n`);
    for (let i = 0; i < 5_000; i++) {
      const chunk = chunkOf(i);
      known.store(chunk, 0, known.findLineEnd(chunk, 0), replyOf(i));
    }
    let kept = 0;
    for (let i = 0; i < 5_000; i++) {
      const chunk = chunkOf(i);
      const found = known.find(chunk, 0, known.findLineEnd(chunk, 0));
      if (found === null) continue;
      kept++;
      assert.deepEqual(found, replyOf(i));
    }
    assert.ok(kept > 0 && kept <= 1_024);
  });
});
