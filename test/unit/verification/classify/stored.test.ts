import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";
import type { SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import { classify, redactReply, restoreReply } from "../../../../src/verification/classify/classify.ts";
import type { ReplyStage } from "../../../../src/verification/classify/matchable-reply.ts";
import { parsedReply, readCorpus, SELF } from "../../../corpus/labelled.ts";
import fc from "../../../support/properties.ts";

/** The stored part of a reply is enough to classify it again. */
const AT = { host: "mx.one.test", address: "192.0.2.9", path: "direct", tls: false, latencyMs: 1 };
const LOCALS = ["jane.doe", "user", "postmaster", "x", '"jane doe"', "müller"];

function judged(stage: ReplyStage, reply: SmtpReply, provider: string | null) {
  return classify({ kind: "reply", stage, reply, ...AT } as RcptOutcome, { provider, self: SELF });
}

describe("a reply as evidence keeps it", () => {
  it("is classified as it was when it came, for every reply of the development corpus and any address asked for", () => {
    const corpus = readCorpus("development") ?? [];
    assert.ok(corpus.length > 500, `${corpus.length} replies`);
    for (const { line, lines, stage, provider } of corpus) {
      const reply = parsedReply(lines);
      for (const local of LOCALS) {
        const kept = redactReply(reply, local, SELF);
        const restored = restoreReply(kept, reply.enhanced);
        assert.ok(restored !== null, `line ${line} was cut`);
        assert.deepEqual(
          judged(stage, restored, provider),
          judged(stage, reply, provider),
          `line ${line}: ${kept}`,
        );
        assert.equal(redactReply(restored, local, SELF), kept, `line ${line} is kept as it is`);
      }
    }
  });

  it("is marked where it was cut, and then not judged again", () => {
    const { replyTextChars, replyMatchedChars } = LIMITS.check;
    const kept = (words: string) => redactReply({ code: 550, enhanced: null, lines: [words] }, "jane", SELF);
    const whole = kept("x".repeat(replyTextChars - 4));
    assert.deepEqual([whole.length, whole.endsWith("x")], [replyTextChars, true]);
    assert.ok(restoreReply(whole, null));
    for (const long of ["x".repeat(replyTextChars - 3), `${"a@b ".repeat(replyMatchedChars)}unknown`]) {
      const cut = kept(long);
      assert.deepEqual([cut.length, cut.at(-1)], [replyTextChars, "…"]);
      assert.equal(restoreReply(cut, null), null);
    }
    // Long before, short behind: what lies beyond the bound of matching was never read.
    const shrunk = kept(`${"jane ".repeat(1_000)}`);
    assert.equal(restoreReply(shrunk, null), null);
  });

  it("keeps our name in an address, and whose it is not", () => {
    const kept = (line: string) => redactReply({ code: 550, enhanced: null, lines: [line] }, "jane", SELF);
    assert.equal(kept(`<bounce@${SELF.heloName}> rejected`), `550 <*@${SELF.heloName}> rejected`);
    assert.equal(kept("<jane@example.com> rejected"), "550 <*@*> rejected");
  });

  it("hides no address behind another script", () => {
    const bytes = fc
      .array(fc.oneof(fc.integer({ min: 0x81, max: 0xfe }), fc.constantFrom(0x40, 0x61, 0x20, 0x2e)), {
        maxLength: 40,
      })
      .map((codes) => Buffer.from(codes).toString("latin1"));
    fc.assert(
      fc.property(bytes, (line) => {
        const kept = redactReply({ code: 550, enhanced: null, lines: [line] }, "jane", SELF);
        assert.doesNotMatch(kept.replaceAll("*@*", ""), /@/);
      }),
      { numRuns: 500, seed: 5321 },
    );
  });

  it("is none where no server spoke", () => {
    for (const text of ["", "nothing leaves from here", "99 no code", "abc"])
      assert.equal(restoreReply(text, null), null, text);
  });
});
