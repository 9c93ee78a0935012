import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { delayNamed, delayOf } from "../../../../src/verification/classify/delay.ts";
import fc from "../../../support/properties.ts";

describe("the delay a reply names", () => {
  const cases: [reply: string, seconds: number | null][] = [
    ["450 4.2.0 Greylisted for 300 seconds", 300],
    ["450 Greylisted: 5 minutes", 300],
    ["451 greylisted for 60 sec", 60],
    ["451 try again in 4 min 30 s", 270],
    ["451 retry in 5m", 300],
    ["451 please wait 300s", 300],
    ["451 retry=120s", 120],
    ["451 retry after 1 hour and 30 minutes", 5_400],
    ["451 come back in 00:05:00", 300],
    ["451 come back in 4:59", 299],
    ["451 299 seconds remaining", 299],
    ["451 please try again at least 10 minutes later", 600],
    ["451 try again in one minute", 60],
    ["451 bitte in 5 Minuten erneut versuchen", 300],
    ["451 réessayer dans 5 minutes", 300],
    ["451 intente nuevamente en 10 minutos", 600],
    ["451 riprovare tra 5 minuti", 300],
    ["451 повторите через 5 минут", 300],
    ["451 请在5分钟后重试", 300],
    ["450 try again in 999999 hours", 86_400],
    ["450 4.2.0 Greylisted, try again later", null],
    ["450 4.7.1 for 2 recipients; listed at 192.0.2.1", null],
    ["451 4.3.0 connections from 10 m servers", null],
    ["554 5.7.1 blocked for 192.0.2.1:25", null],
    ["452 4.5.3 too many recipients: 100", null],
    ["", null],
  ];
  for (const [reply, seconds] of cases) it(reply, () => assert.equal(delayNamed(reply), seconds));

  it("is between nothing and a day, whatever is said", () => {
    const piece = fc.constantFrom(
      "in",
      "after",
      "5",
      "minutes",
      "00:99:99",
      "retry=",
      "秒",
      " ",
      "9999999",
      "s",
      "one",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, fc.string({ unit: "binary", maxLength: 8 })), { maxLength: 40 }),
        (words) => {
          const delay = delayNamed(words.join(" "));
          assert.ok(delay === null || (delay >= 0 && delay <= 86_400), String(delay));
        },
      ),
      { numRuns: 300, seed: 6647 },
    );
  });

  it("counts for every reply but an answer and a refusal of us, in whatever line of the reply it stands", () => {
    const lines = ["4.2.0 greylisted, sorry", `see ${"x".repeat(1_500)}`, "try again in 5 minutes"];
    const at = (code: number, ruling: Parameters<typeof delayOf>[1]) =>
      delayOf({ code, enhanced: null, lines }, ruling);
    assert.equal(at(450, "greylisted"), 300);
    assert.equal(at(550, "greylisted"), 300);
    assert.equal(at(421, "rate_limited_by_server"), 300);
    assert.equal(at(451, "smtp_protocol_error"), 300);
    assert.equal(at(554, "smtp_protocol_error"), 300);
    assert.equal(at(452, "mailbox_full"), 300);
    assert.equal(at(554, "sender_blocked"), null);
    assert.equal(at(550, "mailbox_not_found"), null);
    assert.equal(delayOf({ code: 450, enhanced: null, lines: ["later"] }, "greylisted"), null);
  });
});
