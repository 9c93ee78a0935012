import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { readFeedbackFile } from "../../../../../src/features/feedback/read/file.ts";
import type { TableOptions } from "../../../../../src/features/feedback/read/table.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import {
  arfComplaint,
  asMbox,
  ordinaryMail,
  postfixBounce,
  qmailBounce,
} from "../../../../support/bounce-mails.ts";
import fc from "../../../../support/properties.ts";

const readText = (text: string, options: TableOptions = {}) => readFeedbackFile(Buffer.from(text), options);

describe("a mailbox file", () => {
  it("is read message by message, and what reports nothing is counted", async () => {
    const { events, ignored } = await readFeedbackFile(
      asMbox(postfixBounce, ordinaryMail, qmailBounce, arfComplaint),
      {},
    );
    assert.deepEqual(
      events.map(({ address, outcome }) => `${outcome} ${address}`),
      [
        "bounced jane@customer.example",
        "bounced jane@customer.example",
        "bounced joe@nosuch.example",
        "complained jane@customer.example",
      ],
    );
    assert.equal(ignored, 1);
  });

  it("begins a message only behind an empty line", async () => {
    const mail = Buffer.concat([postfixBounce, Buffer.from("From the start: no new message\r\n")]);
    assert.equal((await readFeedbackFile(asMbox(mail), {})).events.length, 1);
  });

  it("that takes too long to read is refused", async () => {
    const bounds = { ...LIMITS.feedback.file, mailMs: 10, slowMailMs: 100 };
    const mailbox = asMbox(...Array.from({ length: 50 }, () => postfixBounce));
    /** Reads messages that take as long each. */
    const readAt = (messageMs: number) => {
      let nowMs = 0;
      return readFeedbackFile(mailbox, {}, bounds, () => {
        nowMs += messageMs;
        return nowMs;
      });
    };
    assert.equal((await readAt(10)).events.length, 50);
    assert.equal((await readAt(12)).events.length, 50);
    await assert.rejects(readAt(13), {
      code: "body_too_large",
      message: /over 100 ms of slow messages: send it in parts/,
    });
  });

  it("of too many messages is refused", async () => {
    const many = Buffer.from("From a\n\n".repeat(LIMITS.feedback.file.messages + 1));
    await assert.rejects(readFeedbackFile(many, {}), { code: "body_too_large" });
  });
});

describe("one message", () => {
  it("is known by its first field", async () => {
    assert.equal((await readFeedbackFile(postfixBounce, {})).events.length, 1);
    assert.deepEqual(await readFeedbackFile(ordinaryMail, {}), { events: [], ignored: 1 });
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), postfixBounce]);
    assert.equal((await readFeedbackFile(marked, {})).events.length, 1);
  });
});

describe("a table", () => {
  it("has its columns found by their names, and those of a job's results", async () => {
    const { events, ignored } = await readText(
      "email,status,diagnostic,timestamp,rcpt_verdict,rcpt_reason,rcpt_mx_provider\r\n" +
        "a@b.example,hard_bounce,550 5.1.1 no such user,2026-11-26T10:00:00Z,valid,accepted_mailbox,google\r\n" +
        "c@b.example,Delivered,,1795687200,invalid,mailbox_not_found,\r\n" +
        "d@b.example,spamreport,,,,,\r\n" +
        "e@b.example,open,,,valid,,\r\n",
    );
    assert.equal(ignored, 1);
    assert.deepEqual(
      events.map(({ address, outcome, atMs, bounce, ...answer }) => [
        address,
        outcome,
        atMs === null ? null : new Date(atMs).toISOString(),
        bounce?.reason ?? null,
        ...Object.values(answer),
      ]),
      [
        [
          ...["a@b.example", "bounced", "2026-11-26T10:00:00.000Z", "mailbox_not_found"],
          ...["valid", "accepted_mailbox", "google", null],
        ],
        [
          "c@b.example",
          "delivered",
          "2026-11-26T10:00:00.000Z",
          null,
          "invalid",
          "mailbox_not_found",
          null,
          null,
        ],
        ["d@b.example", "complained", null, null, null, null, null, null],
      ],
    );
  });

  it("whose outcome is the code of the reply says why by that", async () => {
    const { events } = await readText(
      "email,status\na@b.example,5.1.1\nc@d.example,4.2.2\ne@f.example,2.0.0\n",
    );
    assert.deepEqual(
      events.map(({ outcome, bounce }) => [outcome, bounce?.reason ?? null, bounce?.hard ?? null]),
      [
        ["bounced", "mailbox_not_found", true],
        ["bounced", "mailbox_full", false],
        ["delivered", null, null],
      ],
    );
  });

  it("has the words of mail systems for what became of a message", async () => {
    const { events, ignored } = await readText(
      "email,bounceType\na@b.example,Permanent\nc@d.example,Transient\ne@f.example,not spam\ng@h.example,abuse\n",
    );
    assert.deepEqual(
      events.map(({ outcome, bounce }) => [outcome, bounce?.hard ?? null]),
      [
        ["bounced", true],
        ["bounced", false],
        ["complained", null],
      ],
    );
    assert.equal(ignored, 1);
  });

  it("without outcomes needs one in the request", async () => {
    await assert.rejects(readText("a@b.example\nc@d.example\n"), { code: "validation_failed" });
    const { events } = await readText("a@b.example\nc@d.example\n", { outcome: "bounced" });
    assert.deepEqual(
      events.map(({ address, outcome, bounce }) => [address, outcome, bounce?.reason]),
      [
        ["a@b.example", "bounced", "unspecified"],
        ["c@d.example", "bounced", "unspecified"],
      ],
    );
  });

  it("distinguishes a hard bounce from a soft one by its type", async () => {
    const { events } = await readText(
      "email,event,bounce_type\na@b.example,bounce,Permanent\nc@d.example,bounce,Transient\n",
    );
    assert.deepEqual(
      events.map(({ bounce }) => bounce?.hard),
      [true, false],
    );
  });

  it("of too many rows or events is refused before it is read", async () => {
    const { rows, events } = LIMITS.feedback.file;
    await assert.rejects(readText("a@b.example\n".repeat(rows + 1), { outcome: "bounced" }), {
      code: "body_too_large",
    });
    await assert.rejects(readText("a@b.example\n".repeat(events + 1), { outcome: "bounced" }), {
      code: "body_too_large",
    });
    const bomb = gzipSync(Buffer.alloc(LIMITS.feedback.file.textBytes * 2, "a@b.example\n"));
    await assert.rejects(readFeedbackFile(bomb, { outcome: "bounced" }), { code: "body_too_large" });
  });

  it("whose last quote does not close is refused, however far it is", async () => {
    const rows = '"a@b.example",open\n'.repeat(49_000);
    await assert.rejects(readText(`email,status\n${rows}"c@d.example,bounced\n`), {
      code: "quote_not_closed",
    });
  });

  it("without addresses is refused as a list is", async () => {
    await assert.rejects(readText("name,status\nJane,bounced\n"), { code: "no_email_column" });
  });
});

describe("any bytes", () => {
  it("are read, or refused with a code", async () => {
    const start = fc.constantFrom("", "From x\n", "Subject: x\n\n", "email,status\n", "\u001f\u008b");
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 1_000 }), async (begun, bytes) => {
        try {
          const { ignored } = await readFeedbackFile(
            Buffer.concat([Buffer.from(begun, "latin1"), bytes]),
            {},
          );
          assert.ok(ignored >= 0);
        } catch (error) {
          assert.ok(error instanceof AppError, String(error));
        }
      }),
    );
  });
});
