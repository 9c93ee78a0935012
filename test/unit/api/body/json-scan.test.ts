import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createJsonScan, type JsonBounds, type JsonCounts } from "../../../../src/api/body/json-scan.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

const ANYTHING: JsonBounds = { depth: 1e9, members: 1e9, values: 1e9 };

function scanned(pieces: Iterable<Uint8Array>, bounds = ANYTHING): JsonCounts {
  const scan = createJsonScan(bounds);
  for (const piece of pieces) scan.add(piece);
  return scan.counts();
}

const countsOf = (text: string) => scanned([Buffer.from(text)]);

/** The expected counts, by a walk over the parsed value. */
function walked(value: unknown): JsonCounts {
  if (typeof value !== "object" || value === null) return { depth: 0, members: 0, values: 1 };
  const inner = Object.values(value).map(walked);
  const sum = (of: (counts: JsonCounts) => number) => inner.reduce((total, counts) => total + of(counts), 0);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    members: (Array.isArray(value) ? 0 : inner.length) + sum(({ members }) => members),
    values: 1 + sum(({ values }) => values),
  };
}

/** Bytes in pieces, cut at `cuts` taken modulo their number. */
function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

function refusalOf(text: string, bounds: Partial<JsonBounds>): AppError {
  try {
    scanned([Buffer.from(text)], { ...ANYTHING, ...bounds });
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error;
  }
  throw new Error("nothing was refused");
}

const json = fc.json({ maxDepth: 6, stringUnit: "binary" });
const spaced = fc.tuple(json, fc.constantFrom(0, 1, "\t")).map(([text, space]) => {
  const value: unknown = JSON.parse(text);
  return JSON.stringify(value, null, space);
});
const cuts = fc.array(fc.nat(), { maxLength: 12 });

describe("a scan of JSON", () => {
  it("counts what a walk over the parsed value counts", () => {
    fc.assert(fc.property(spaced, (text) => assert.deepEqual(countsOf(text), walked(JSON.parse(text)))));
  });

  it("counts the same however the bytes are cut", () => {
    fc.assert(
      fc.property(spaced, cuts, (text, places) => {
        const bytes = Buffer.from(text);
        assert.deepEqual(scanned(cutAt(bytes, places)), scanned([bytes]));
      }),
    );
  });

  it("counts the same however bytes are cut that are no JSON", () => {
    const nearly = fc
      .array(fc.constantFrom(...'{}[]",:\\ a1é'), { maxLength: 60 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(nearly, cuts, (text, places) => {
        const bytes = Buffer.from(text);
        assert.deepEqual(scanned(cutAt(bytes, places)), scanned([bytes]));
      }),
    );
  });

  it("counts names that repeat each other, which parsing makes one", () => {
    assert.deepEqual(countsOf('{"a":1,"a":2}'), { depth: 1, members: 2, values: 3 });
  });

  it("looks at nothing within strings", () => {
    assert.deepEqual(countsOf('["\\"[{:,","\\\\",",:"]'), { depth: 1, members: 0, values: 4 });
  });

  it("refuses with what is too much, and says how much may be", () => {
    const deep = refusalOf("[[[]]]", { depth: 2 });
    assert.deepEqual(
      [deep.code, deep.message],
      ["malformed_json", "The body is nested deeper than 2 levels."],
    );
    const wide = refusalOf('{"a":1,"b":{"c":2}}', { members: 2 });
    assert.deepEqual([wide.code, wide.message.includes("more than 2 names")], ["malformed_json", true]);
    const long = refusalOf("[1,2,3]", { values: 3 });
    assert.deepEqual([long.code, long.message], ["malformed_json", "The body has more than 3 values."]);
    const tooManyValues = () => new AppError("inline_too_large", "too many");
    assert.equal(refusalOf("[1,2,3]", { values: 3, tooManyValues }).code, "inline_too_large");
  });

  it("lets pass what has as much as it may", () => {
    const bounds = { depth: 2, members: 2, values: 5 };
    assert.deepEqual(scanned([Buffer.from('{"a":[1,2],"b":3}')], bounds), {
      depth: 2,
      members: 2,
      values: 5,
    });
  });

  it("refuses with the piece that has too much, not at the end", () => {
    const scan = createJsonScan({ ...ANYTHING, members: 1 });
    scan.add(Buffer.from('{"a":1,"b'));
    assert.throws(() => scan.add(Buffer.from('":')), AppError);
  });
});
