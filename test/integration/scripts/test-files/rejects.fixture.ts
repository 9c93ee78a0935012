import assert from "node:assert/strict";
import { test } from "node:test";

test("leaves a rejection behind", () => {
  void Promise.reject(new Error("nobody handles this"));
  assert.ok(true);
});
