import assert from "node:assert/strict";
import { test } from "node:test";
import { coresOf } from "../../../bench/setup/pin.ts";

test("the cores of a process are read from taskset's list", () => {
  assert.deepEqual(coresOf("0,1"), [0, 1]);
  assert.deepEqual(coresOf("2-4,8"), [2, 3, 4, 8]);
  assert.deepEqual(coresOf("5"), [5]);
});
