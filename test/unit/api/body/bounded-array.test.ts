import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { boundedArray } from "../../../../src/api/body/bounded-array.ts";

const schema = boundedArray(v.pipe(v.string(), v.maxLength(3)), 1, 4);
const issues = (input: unknown) =>
  (v.safeParse(schema, input).issues ?? []).map((issue) => [v.getDotPath(issue), issue.message]);

describe("a bounded array", () => {
  it("takes what is within its bounds", () => {
    for (const input of [["a"], ["a", "b", "c", "ddd"]]) assert.deepEqual(v.parse(schema, input), input);
  });

  it("names every item that is wrong, by its place", () => {
    const paths = issues(["a", 1, "long", null]).map(([path]) => path);
    assert.deepEqual(paths, ["1", "2", "3"]);
  });

  it("says once that it is too long or too short, whatever the items", () => {
    assert.deepEqual(issues(Array(500_000).fill(1)), [[null, "must have at most 4 items"]]);
    assert.deepEqual(issues([]), [[null, "must have at least 1 item"]]);
  });

  it("takes nothing else", () => {
    for (const input of [undefined, null, "abcd", 4, { length: 1, 0: "a" }]) {
      assert.equal(v.is(schema, input), false);
      assert.equal(issues(input).length, 1);
    }
  });

  it("is described with its items and its bounds", () => {
    const { type, items, minItems, maxItems } = toJsonSchema(schema, { typeMode: "input" });
    assert.deepEqual(
      { type, items, minItems, maxItems },
      {
        type: "array",
        items: { type: "string", maxLength: 3 },
        minItems: 1,
        maxItems: 4,
      },
    );
  });
});
