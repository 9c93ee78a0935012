import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteSize } from "../../../portal/src/words/bytes.ts";
import { domainsOf } from "../../../portal/src/words/domains.ts";
import { duration } from "../../../portal/src/words/durations.ts";
import { counted, percent } from "../../../portal/src/words/numbers.ts";
import { REASONS, type Reason } from "../../../portal/src/words/reasons.ts";
import { VERDICT_ROWS } from "../../../src/verification/verdict/table.ts";

describe("pasted domains", () => {
  it("are each taken once, in whichever form they are repeated", () => {
    const text = "B.example, a.example;A.EXAMPLE. b.example\nm\u00fcnchen.example xn--mnchen-3ya.example";
    assert.deepEqual(domainsOf(text), {
      domains: ["B.example", "a.example", "m\u00fcnchen.example"],
      repeats: 3,
    });
    assert.deepEqual(domainsOf(" \n"), { domains: [], repeats: 0 });
  });

  it("that are none are no repeats of those that they begin with", () => {
    const wrong = ["a.example/x", "a.example", "a.example:80", "no_domain", "<b>"];
    assert.deepEqual(domainsOf(wrong.join("\n")), { domains: wrong, repeats: 0 });
  });
});

describe("counts", () => {
  it("have the noun in its right form", () => {
    const rows = [0, 1, 2, 1_234].map((count) => counted(count, "row"));
    assert.deepEqual(rows, ["0 rows", "1 row", "2 rows", "1,234 rows"]);
    assert.equal(counted(1, "address", "addresses"), "1 address");
    assert.equal(counted(2, "row is", "rows are"), "2 rows are");
  });
});

describe("shares", () => {
  it("have a digit behind the point where there is one", () => {
    assert.deepEqual([0, 0.1, 0.6154, 1].map(percent), ["0%", "10%", "61.5%", "100%"]);
  });
});

describe("reasons", () => {
  it("come with the verdict of the verdict table", () => {
    for (const { reason, verdict } of Object.values(VERDICT_ROWS))
      assert.equal(REASONS[reason as Reason].verdict, verdict, reason);
  });
});

describe("sizes and durations", () => {
  it("have as many digits as a person wants", () => {
    const sizes = [0, 999, 1_000, 12_345_678, 123_456_789, 5e12].map(byteSize);
    assert.deepEqual(sizes, ["0 B", "999 B", "1.0 KB", "12.3 MB", "123 MB", "5.0 TB"]);
    const spans = [0.2, 59, 90, 3_599, 3_600, 7_500, 200_000].map(duration);
    assert.deepEqual(spans, ["1 s", "59 s", "2 min", "60 min", "1 h", "2 h 5 min", "2 d"]);
  });

  it("are written by the reader's own custom", (t) => {
    const { format } = new Intl.NumberFormat("de", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    t.mock.method(Number.prototype, "toLocaleString", function (this: number) {
      return format(this);
    });
    assert.equal(byteSize(1_234_567_890), "1,2 GB");
  });
});
