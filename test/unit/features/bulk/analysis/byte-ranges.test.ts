import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRange } from "../../../../../src/features/bulk/analysis/byte-ranges.ts";
import { AppError } from "../../../../../src/platform/errors.ts";

const ETAG = '"abc"';
const ask = (range: string, ifRange = "") => parseRange({ range, ifRange }, 1_000, ETAG);

describe("a range that is asked for", () => {
  for (const [range, firstByte, bytes] of [
    ["bytes=0-0", 0, 1],
    ["bytes=10-19", 10, 10],
    ["bytes=990-", 990, 10],
    ["bytes=990-5000", 990, 10],
    ["bytes=-1", 999, 1],
    ["bytes=-5000", 0, 1_000],
    ["BYTES=0-", 0, 1_000],
    [" bytes=1-1 ", 1, 1],
  ] as const)
    it(`is ${bytes} bytes from ${firstByte} in "${range}"`, () => {
      assert.deepEqual(ask(range), { firstByte, bytes });
    });

  for (const range of [
    "",
    "bytes=",
    "bytes=-",
    "bytes=5-4",
    "bytes=0-1,5-6",
    "rows=0-1",
    "bytes=a-b",
    "bytes=0-1 2",
  ])
    it(`is the whole in "${range}"`, () => assert.equal(ask(range), null));

  for (const range of ["bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=999999999999999-"])
    it(`cannot be satisfied in "${range}"`, () => {
      assert.throws(
        () => ask(range),
        (error) =>
          error instanceof AppError &&
          error.status === 416 &&
          error.headers?.["Content-Range"] === "bytes */1000",
      );
    });

  it("is the whole when the object is another one than is known", () => {
    assert.equal(ask("bytes=0-1", '"other"'), null);
    assert.equal(ask("bytes=0-1", 'W/"abc"'), null);
    assert.deepEqual(ask("bytes=0-1", ETAG), { firstByte: 0, bytes: 2 });
  });
});
