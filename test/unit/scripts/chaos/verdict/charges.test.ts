import assert from "node:assert/strict";
import { test } from "node:test";
import { chargeInterval, writtenOff, wrongCharge } from "../../../../../scripts/chaos/verdict/charges.ts";

test("answered requests are due; those cut off, or never reported by a dead process, may be", () => {
  const interval = chargeInterval({ charged: 100, cutOff: 3, written: 4 });
  assert.deepEqual(interval, { least: 100, most: 107 });
  assert.equal(wrongCharge(100, interval), 0);
  assert.equal(wrongCharge(107, interval), 0);
  assert.equal(wrongCharge(98, interval), 2);
  assert.equal(wrongCharge(110, interval), 3);
});

test("without failures a charge is exact", () => {
  const interval = chargeInterval({ charged: 100, cutOff: 0, written: 0 });
  assert.equal(wrongCharge(101, interval), 1);
  assert.equal(wrongCharge(99, interval), 1);
});

test("a lease that was not renewed is charged with its tranche at most, and never beyond what it had", () => {
  assert.equal(writtenOff({ granted: 20, spent: 4, tranche: 10 }), 10);
  assert.equal(writtenOff({ granted: 8, spent: 4, tranche: 10 }), 4);
  assert.equal(writtenOff({ granted: 4, spent: 4, tranche: 4 }), 0);
});
