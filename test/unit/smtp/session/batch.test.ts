import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Batch, type TransactionEnd } from "../../../../src/smtp/session/batch.ts";
import type { SessionEnd } from "../../../../src/smtp/wire/handshake.ts";
import { parseMailbox, parseReversePath } from "../../../../src/smtp/wire/mailbox.ts";
import type { SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import fc from "../../../support/properties.ts";

const FROM = parseReversePath("") ?? assert.fail();
const CLOSED: SessionEnd = { kind: "failure", stage: "rcpt", cause: "closed", detail: "gone" };
const OUT_OF_STEP: SessionEnd = { kind: "failure", stage: "rcpt", cause: "protocol", detail: "x" };

const reply = (code: number, text = ""): SmtpReply => ({ code, enhanced: null, lines: [text] });
const transaction = (address: string, cancelled = () => false) => ({
  mailbox: parseMailbox(address) ?? assert.fail(),
  cancelled,
});

function batchOf(count: number, pipelined = true): Batch {
  const transactions = Array.from({ length: count }, (_, i) => transaction(`u${i}@x.test`));
  return new Batch(transactions, FROM, pipelined);
}

const codeOf = (end: TransactionEnd | undefined) => (end?.kind === "reply" ? end.reply.code : end?.cause);

describe("a batch of transactions", () => {
  it("goes out in one write, one recipient per transaction", () => {
    assert.equal(
      batchOf(2).next,
      "MAIL FROM:<>\r\nRCPT TO:<u0@x.test>\r\nRSET\r\nMAIL FROM:<>\r\nRCPT TO:<u1@x.test>\r\nRSET\r\n",
    );
  });

  it("reports its progress, and its progress when a reply was late", () => {
    const batch = batchOf(3);
    assert.deepEqual(batch.progress, { transactions: 0, rejections: 0, refused: null });
    for (const code of [250, 550, 250, 250]) batch.accept(reply(code));
    assert.deepEqual(batch.progress, { transactions: 1, rejections: 1, refused: null });
    batch.recordLateReply();
    for (const code of [550, 250]) batch.accept(reply(code));
    batch.recordLateReply();
    assert.deepEqual(
      batch.progressWhenLate,
      { transactions: 1, rejections: 1, refused: null },
      "the first late one",
    );
    assert.deepEqual(batch.progress, { transactions: 2, rejections: 2, refused: null });
  });

  it("reports the reply that refused a RSET", () => {
    for (const pipelined of [true, false]) {
      const batch = batchOf(1, pipelined);
      const refusal = reply(554, "Too many nonmail commands");
      const steps = [reply(250), reply(250), refusal].map((answer) => batch.accept(answer));
      assert.equal(steps.at(-1), pipelined ? "out_of_step" : "closing");
      assert.deepEqual(batch.progress, { transactions: 0, rejections: 0, refused: refusal });
    }
  });

  it("announces SMTPUTF8 for a mailbox that needs it, and for no other", () => {
    const batch = new Batch([transaction("jürgen@x.test"), transaction("a@x.test")], FROM, true);
    assert.equal(batch.utf8, true);
    assert.equal(batch.next.match(/SMTPUTF8/g)?.length, 1);
  });

  it("gives each transaction its own reply", () => {
    const batch = batchOf(2);
    const steps = [250, 550, 250, 250, 250, 250].map((code) => batch.accept(reply(code)));
    assert.deepEqual(steps, ["await", "await", "await", "await", "await", "done"]);
    assert.deepEqual(batch.ends.map(codeOf), [550, 250]);
  });

  it("blames a refused MAIL and not the 503 that RCPT then gets", () => {
    const batch = batchOf(1);
    for (const code of [451, 503, 250]) batch.accept(reply(code));
    assert.deepEqual(batch.ends[0], { kind: "reply", stage: "mail", reply: reply(451) });
  });

  it("awaits each reply in lock step, also that of RSET", () => {
    const batch = batchOf(1, false);
    assert.equal(batch.next, "MAIL FROM:<>\r\n");
    assert.equal(batch.accept(reply(250)), "write");
    assert.equal(batch.next, "RCPT TO:<u0@x.test>\r\n");
    assert.equal(batch.accept(reply(550)), "write");
    assert.equal(batch.next, "RSET\r\n");
    assert.equal(batch.accept(reply(250)), "done");
    assert.deepEqual(batch.ends.map(codeOf), [550]);
  });

  it("does not write RCPT in lock step when no caller waits any more", () => {
    let over = false;
    const batch = new Batch([transaction("a@x.test", () => over)], FROM, false);
    over = true;
    batch.accept(reply(250));
    assert.equal(batch.next, "RSET\r\n");
    batch.accept(reply(250));
    assert.deepEqual(batch.ends.map(codeOf), ["cancelled"]);
  });

  it("is unsure of all up to a 421; those behind were not reached", () => {
    const batch = batchOf(3);
    for (const code of [250, 250, 250, 250]) batch.accept(reply(code));
    assert.equal(batch.accept(reply(421)), "closing");
    const ends = batch.abandon({ kind: "reply", stage: "rcpt", reply: reply(421) });
    assert.deepEqual(ends.map(codeOf), ["closed", "closed", "closed"]);
    assert.ok(ends.slice(0, 2).every((end) => end.kind === "failure" && end.blame === "unsure"));
    assert.ok(ends[2]?.kind === "failure" && ends[2].blame === "not_reached");
  });

  it("keeps the refusal of one that the server hung up after, but not an acceptance nothing stands behind", () => {
    const refused = batchOf(1);
    for (const code of [250, 550]) refused.accept(reply(code));
    assert.deepEqual(refused.abandon(CLOSED).map(codeOf), [550]);
    const accepted = batchOf(2);
    for (const code of [250, 250]) accepted.accept(reply(code));
    const [first] = accepted.abandon(CLOSED);
    assert.ok(first?.kind === "failure" && first.blame === "unsure" && first.stage === "rcpt");
  });

  it("trusts nothing once the server is out of step", () => {
    const batch = batchOf(2);
    for (const code of [250, 250, 250, 250]) batch.accept(reply(code));
    assert.equal(batch.accept(reply(354)), "out_of_step");
    assert.deepEqual(batch.abandon(OUT_OF_STEP).map(codeOf), ["protocol", "protocol"]);
  });

  it("keeps nothing of a pipelined write that a reply over the bounds broke", () => {
    const batch = batchOf(2);
    for (const code of [250, 250, 250, 550]) batch.accept(reply(code));
    const tooLong: SessionEnd = { kind: "failure", stage: "rcpt", cause: "reply_too_long", detail: "x" };
    const ends = batch.abandon(tooLong);
    assert.deepEqual(ends.map(codeOf), ["reply_too_long", "reply_too_long"]);
    assert.ok(ends.every((end) => end.kind === "failure" && end.blame === "unsure"));
  });

  it("keeps the replies of lock step when RSET is refused, and ends the session", () => {
    const batch = batchOf(1, false);
    batch.accept(reply(250));
    batch.accept(reply(550));
    assert.equal(batch.accept(reply(554)), "closing");
    const ends = batch.abandon({ kind: "reply", stage: "rcpt", reply: reply(554) });
    assert.deepEqual(ends.map(codeOf), [550]);
    const pipelined = batchOf(1);
    for (const code of [250, 550]) pipelined.accept(reply(code));
    assert.equal(pipelined.accept(reply(554)), "out_of_step");
  });

  it("never gives a recipient another one's refusal or acceptance, however often a server repeats itself", () => {
    const verdicts = fc.array(fc.boolean(), { minLength: 1, maxLength: 10 });
    const extras = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(verdicts, extras, (exists, positions) => {
        const replies = exists.flatMap((known) => [reply(250), reply(known ? 250 : 550), reply(250)]);
        for (const at of positions) {
          const index = at % replies.length;
          replies.splice(index, 0, replies[index] ?? reply(250));
        }
        const batch = batchOf(exists.length);
        let step = "await";
        let read = 0;
        while (step === "await" && read < replies.length) step = batch.accept(replies[read++] ?? reply(500));
        const ends =
          step === "done" && read === replies.length
            ? batch.ends
            : batch.abandon(step === "out_of_step" || read < replies.length ? OUT_OF_STEP : CLOSED);
        ends.forEach((end, i) => {
          if (end.kind === "reply") assert.equal(end.reply.code < 300, exists[i], `${i} of ${exists}`);
        });
      }),
      { numRuns: 2_000 },
    );
  });
});
