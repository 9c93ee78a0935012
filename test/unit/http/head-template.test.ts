import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHeadTemplate } from "../../../src/http/head-template.ts";
import { createRequestIds } from "../../../src/http/request-id.ts";
import { limitText } from "../../../src/services/limits-view.ts";
import fc from "../../support/properties.ts";

const NUMBERS = [0, 1, 9, 10, 99, 100, 9_999, 10_000, 49_999_999, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 9];
NUMBERS.push(9_999_999_999, Number.MAX_SAFE_INTEGER);

const START = "200 OK\r\nX-Request-Id: ";

describe("the head of a ready answer", () => {
  it("says the same in bytes as the general way in text, with an id of its own each time", () => {
    const ids = createRequestIds();
    const fields = '\r\nCache-Control: no-store\r\nRateLimit-Policy: "rate";q=1;w=2\r\nRateLimit: ';
    const head = createHeadTemplate(START, fields, ids);
    const seen = new Set<string>();
    for (const [i, rate] of NUMBERS.entries()) {
      for (const [j, quota] of NUMBERS.entries()) {
        const numbers = { rate, rateResetS: i + 1, quota, quotaResetS: 86_400 - j };
        const text = Buffer.from(head.fill(numbers)).toString("latin1");
        assert.equal(text, START + ids.last() + fields + limitText(numbers));
        seen.add(ids.last());
      }
    }
    assert.equal(seen.size, NUMBERS.length ** 2);
  });

  it("has nothing left of what it said before, wherever numbers stand still, move, grow or shrink", () => {
    const number = fc.constantFrom(1, 9, 10, 99, 100, 10_000);
    const numbers = fc.record({ rate: number, rateResetS: number, quota: number, quotaResetS: number });
    fc.assert(
      fc.property(
        fc.constantFrom("", "\r\nX: y"),
        fc.array(numbers, { minLength: 2, maxLength: 30 }),
        (end, all) => {
          const ids = createRequestIds();
          const head = createHeadTemplate(START, "\r\nRateLimit: ", ids, end);
          for (const one of all) {
            const text = Buffer.from(head.fill(one)).toString("latin1");
            assert.equal(text, `${START}${ids.last()}\r\nRateLimit: ${limitText(one)}${end}`);
          }
        },
      ),
    );
  });
});
