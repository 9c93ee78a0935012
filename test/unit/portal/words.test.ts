import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pastedAddresses } from "../../../portal/src/pages/lists/new/pasted.ts";
import { byteSize } from "../../../portal/src/words/bytes.ts";
import { duration } from "../../../portal/src/words/durations.ts";

describe("pasted addresses", () => {
  it("are a line each, or parted by what people put between them", () => {
    const text = "a@x.test\r\n\n  Doe, Jane <b@x.test> \nc@x.test; d@x.test,e@x.test\tf@x.test\nnothing";
    assert.deepEqual(pastedAddresses(text), [
      "a@x.test",
      "Doe, Jane <b@x.test>",
      "c@x.test",
      "d@x.test",
      "e@x.test",
      "f@x.test",
      "nothing",
    ]);
    assert.deepEqual(pastedAddresses(" \n\n"), []);
  });
});

describe("sizes and durations", () => {
  it("have as many digits as a person wants", () => {
    const sizes = [0, 999, 1_000, 12_345_678, 123_456_789, 5e12].map(byteSize);
    assert.deepEqual(sizes, ["0 B", "999 B", "1.0 KB", "12.3 MB", "123 MB", "5.0 TB"]);
    const spans = [0.2, 59, 90, 3_599, 3_600, 7_500, 200_000].map(duration);
    assert.deepEqual(spans, ["1 s", "59 s", "2 min", "60 min", "1 h", "2 h 5 min", "2 d"]);
  });
});
