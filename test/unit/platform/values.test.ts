import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { effectiveLimits, TIER_LIMITS, TIERS } from "../../../src/config/tiers.ts";
import { AppError, ERRORS } from "../../../src/platform/errors.ts";
import { isId, newId } from "../../../src/platform/ids.ts";
import { secondsToUtcMidnight } from "../../../src/platform/time/clock.ts";

describe("ids", () => {
  it("sort by the time they were made, and differ within a millisecond", () => {
    const at = Date.UTC(2026, 0, 1);
    const ids = [at, at + 1, at + 60_000, at + 86_400_000].map((ms) => newId("team", ms));
    assert.deepEqual([...ids].sort(), ids);
    assert.equal(new Set(Array.from({ length: 10_000 }, () => newId("key", at))).size, 10_000);
    assert.match(newId("usr"), /^usr_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it("sort as they were made within a millisecond too, of whatever kind they are", () => {
    const at = Date.UTC(2026, 0, 2);
    const ids = Array.from({ length: 20_000 }, (_, i) => newId(i % 2 === 0 ? "ovr" : "key", at).slice(4));
    assert.deepEqual([...ids].sort(), ids);
    // Only the random part increases, by unpredictable steps.
    assert.equal(new Set(ids.map((id) => id.slice(0, 10))).size, 1);
    const ends = new Set(ids.map((id) => id.slice(-4)));
    assert.ok(ends.size > 19_000, `${ends.size}`);
  });

  it("are distinguished from everything else", () => {
    const id = newId("key");
    assert.ok(isId("key", id));
    for (const other of [
      "",
      "key_",
      id.slice(1),
      id.slice(0, -1),
      `${id}0`,
      `${id}\n`,
      id.toUpperCase(),
      "usr_",
    ])
      assert.equal(isId("key", other), false, other);
    assert.equal(isId("usr", id), false);
    assert.equal(isId("key", `${id.slice(0, -1)}\0`), false);
  });
});

describe("days", () => {
  it("end at midnight of UTC", () => {
    assert.equal(secondsToUtcMidnight(Date.UTC(2026, 0, 1, 23, 59, 59, 1)), 1);
    assert.equal(secondsToUtcMidnight(Date.UTC(2026, 0, 1)), 86_400);
  });
});

describe("errors", () => {
  it("carry the status of their code", () => {
    for (const [code, { status }] of Object.entries(ERRORS)) {
      assert.equal(new AppError(code as keyof typeof ERRORS, "why").status, status);
    }
  });
});

describe("tiers", () => {
  it("are those of the documentation", () => {
    const table = TIERS.map((tier) => {
      const { dailyQuota, ratePerS, rateBurst, bulkBytes, historyDays, refresh, probing } = TIER_LIMITS[tier];
      return [tier, dailyQuota, ratePerS, rateBurst, bulkBytes, historyDays, refresh, probing];
    });
    assert.deepEqual(table, [
      ["free", 100, 2, 10, 0, 7, false, false],
      ["starter", 10_000, 10, 50, 5e6, 30, false, false],
      ["pro", 250_000, 50, 200, 100e6, 90, true, false],
      ["pro_plus", 2_000_000, 250, 1_000, 1e9, 365, true, true],
      ["enterprise", 50_000_000, 5_000, 10_000, 20e9, 365, true, true],
    ]);
  });

  it("have rates of reads and writes whose buckets fill in 5 and 10 seconds", () => {
    const table = TIERS.map((tier) => {
      const { readsPerS, readsBurst, writesPerS, writesBurst } = TIER_LIMITS[tier];
      assert.deepEqual([readsBurst, writesBurst], [5 * readsPerS, 10 * writesPerS], tier);
      return [tier, readsPerS, writesPerS];
    });
    assert.deepEqual(table, [
      ["free", 20, 5],
      ["starter", 30, 10],
      ["pro", 50, 20],
      ["pro_plus", 100, 50],
      ["enterprise", 500, 200],
    ]);
  });

  it("yield to the operator's overrides, one by one", () => {
    assert.deepEqual(effectiveLimits("free", { dailyQuota: 7 }), { ...TIER_LIMITS.free, dailyQuota: 7 });
  });
});
