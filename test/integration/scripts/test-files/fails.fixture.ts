import assert from "node:assert/strict";
import { describe, test } from "node:test";

test("passes", () => assert.ok(true));
test("is skipped", { skip: true }, () => assert.fail("ran"));
test.todo("is to be written");
describe("a suite", () => {
  test("fails", () => assert.equal(1 as number, 2, "one is not two"));
  test("says something of itself", (t) => t.diagnostic("what it saw"));
});
console.error("on standard error");
