import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { readMessage } from "../../../../../src/features/feedback/read/message.ts";
import {
  arfComplaint,
  encodedBounce,
  exchangeBounce,
  eximBounce,
  gmailBounce,
  notSpam,
  ordinaryMail,
  postfixBounce,
  qmailBounce,
  redactedComplaint,
  severalRecipients,
} from "../../../../support/bounce-mails.ts";
import fc from "../../../../support/properties.ts";

/** A short form of each event. */
const read = async (mail: Buffer) =>
  (await readMessage(mail)).map(({ address, outcome, atMs, bounce }) => [
    address,
    outcome,
    atMs === null ? null : new Date(atMs).toISOString(),
    bounce === null ? null : `${bounce.reason}${bounce.hard ? " hard" : ""}`,
  ]);

describe("a delivery status notification", () => {
  it("of Postfix names the failed recipient, with time and reason", async () => {
    assert.deepEqual(await read(postfixBounce), [
      ["jane@customer.example", "bounced", "2026-11-26T09:15:00.000Z", "mailbox_not_found hard"],
    ]);
  });

  it("of Gmail has its reply's lines joined, and names the provider", async () => {
    assert.deepEqual(await read(gmailBounce), [
      ["nobody@gmail.com", "bounced", "2026-11-26T09:02:03.000Z", "mailbox_not_found hard"],
    ]);
    assert.equal((await readMessage(gmailBounce))[0]?.bounce?.provider, "google");
  });

  it("of Exchange is read although its text is HTML", async () => {
    assert.deepEqual(await read(exchangeBounce), [
      ["gone@customer.example", "bounced", "2026-11-26T09:00:00.000Z", "mailbox_not_found hard"],
    ]);
  });

  it("in base64 with an internationalised address is read too", async () => {
    assert.deepEqual(await read(encodedBounce), [
      ["grüße@customer.example", "bounced", "2026-11-26T09:00:00.000Z", "mailbox_not_found hard"],
    ]);
  });

  it("counts each recipient by itself, none that is only late, and no full mailbox as missing", async () => {
    assert.deepEqual(await read(severalRecipients), [
      ["full@customer.example", "bounced", "2026-11-26T10:15:00.000Z", "mailbox_full"],
      ["happy@customer.example", "delivered", "2026-11-26T10:15:00.000Z", null],
    ]);
  });

  it("is read when the message that it returns is longer than what is read", async () => {
    const long = Buffer.concat([postfixBounce, Buffer.alloc(LIMITS.feedback.messageBytes, "x")]);
    assert.equal((await read(long)).length, 1);
  });
});

describe("a bounce in prose", () => {
  it("of Exim says of each recipient why", async () => {
    assert.deepEqual(await read(eximBounce), [
      ["jane@customer.example", "bounced", "2026-11-26T10:00:00.000Z", "mailbox_not_found hard"],
      ["joe@other.example", "bounced", "2026-11-26T10:00:00.000Z", "domain_not_found hard"],
    ]);
  });

  it("of qmail too, and nothing of the message that it returns", async () => {
    assert.deepEqual(await read(qmailBounce), [
      ["jane@customer.example", "bounced", "2026-11-26T10:00:00.000Z", "mailbox_not_found hard"],
      ["joe@nosuch.example", "bounced", "2026-11-26T10:00:00.000Z", "domain_not_found hard"],
    ]);
  });

  it("is no other mail", async () => {
    assert.deepEqual(await read(ordinaryMail), []);
  });
});

describe("a complaint", () => {
  it("names who complained, and when the message had come", async () => {
    const jane = ["jane@customer.example", "complained"];
    assert.deepEqual(await read(arfComplaint), [[...jane, "2026-11-26T11:00:00.000Z", null]]);
    assert.deepEqual(await read(redactedComplaint), [[...jane, "2026-11-26T12:00:00.000Z", null]]);
  });

  it("that is taken back is not counted", async () => {
    assert.deepEqual(await read(notSpam), []);
  });
});

describe("hostile bytes", () => {
  const mails = [postfixBounce, gmailBounce, eximBounce, qmailBounce, arfComplaint];

  it("of any kind are read without an error", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
        assert.ok(Array.isArray(await readMessage(bytes)));
      }),
    );
  });

  it("within a report leave it a report of bounded events, or none", async () => {
    const damage = fc.record({
      mail: fc.constantFrom(...mails),
      at: fc.nat(),
      cut: fc.nat({ max: 200 }),
      put: fc.uint8Array({ maxLength: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(damage, async ({ mail, at, cut, put }) => {
        const from = at % mail.length;
        const damaged = Buffer.concat([mail.subarray(0, from), put, mail.subarray(from + cut)]);
        for (const { address, outcome, atMs, bounce } of await readMessage(damaged)) {
          assert.notEqual(address, "");
          assert.equal(bounce === null, outcome !== "bounced");
          assert.ok(atMs === null || Number.isFinite(atMs));
        }
      }),
    );
  });

  it("of parts in parts, and of endless headers, are given up", async () => {
    let nested = "Content-Type: text/plain\r\n\r\nx";
    for (let depth = 0; depth < 100; depth++)
      nested = `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n${nested}\r\n--b${depth}--`;
    assert.deepEqual(await readMessage(Buffer.from(nested)), []);
    const header = Buffer.from(`X-Failed-Recipients: a@b.example\r\n${"X-Y: z\r\n".repeat(30_000)}\r\n`);
    assert.deepEqual(await readMessage(header), []);
  });

  it("name no more recipients than one message may report", async () => {
    const one = "Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n";
    const body = `Reporting-MTA: dns; a\r\n\r\n${one.repeat(3_000)}`;
    const mail = `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n${body}--b--`;
    assert.equal((await readMessage(Buffer.from(mail))).length, LIMITS.feedback.recipientsPerMessage);
  });
});
