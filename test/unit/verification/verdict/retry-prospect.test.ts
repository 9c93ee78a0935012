import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";
import { classify } from "../../../../src/verification/classify/classify.ts";
import { replyEvidenceOf } from "../../../../src/verification/reply-readings.ts";
import { retryProspectOf } from "../../../../src/verification/verdict/retry-prospect.ts";
import { LATER } from "../../../support/mail-world/mailboxes.ts";

const CONTEXT = { provider: null, self: { heloName: "probe.example", addresses: [] } };

function temporary(line: string, stage: "greeting" | "mail" | "rcpt" = "rcpt") {
  const [, code = "", enhanced, text = ""] = /^(\d{3})(?: (\d\.\d+\.\d+))? ?(.*)$/.exec(line) ?? [];
  const reply = { code: Number(code), enhanced: enhanced ?? null, lines: [text] };
  const where = { host: "mx.one.test", address: "192.0.2.1", path: "direct", tls: false, latencyMs: 1 };
  const outcome: RcptOutcome = { kind: "reply", stage, reply, ...where };
  return retryProspectOf(replyEvidenceOf(outcome, classify(outcome, CONTEXT), CONTEXT, "jane@one.test"));
}

describe("a temporary reply", () => {
  for (const [name, { reply }] of Object.entries(LATER))
    it(`is ${reply}`, () =>
      assert.equal(temporary(reply), name === "later-full-wordless" ? "seldom" : "soon"));

  it("may come at any stage", () => {
    for (const stage of ["greeting", "mail", "rcpt"] as const)
      for (const line of ["421 4.7.0 Too many connections", "451 Temporary local problem", "450"])
        assert.equal(temporary(line, stage), "soon", `${stage} ${line}`);
  });

  it("is no answer about the mailbox, and no permanent reply that names no time", () => {
    for (const line of [
      "250 2.1.5 Ok",
      "550 5.1.1 User unknown",
      "550 5.2.1 Mailbox disabled",
      "552 5.2.2 Mailbox full",
      "550 5.7.1 Message rejected due to content policy restrictions",
      "501 5.1.3 Bad recipient address syntax",
    ])
      assert.equal(temporary(line), null, line);
  });
});
