import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { Growth } from "../../../src/smtp/growth.ts";

describe("the growth of a host", () => {
  it("waits after a slot was refused, but never holds back the first session", () => {
    const growth = new Growth();
    growth.acquiring = 1;
    growth.slotRefused(0);
    assert.equal(growth.coming, 0);
    assert.equal(growth.allows(LIMITS.smtp.growRetryMs - 1, true), false);
    assert.equal(growth.allows(0, false), true);
    assert.equal(growth.allows(LIMITS.smtp.growRetryMs, true), true);
  });

  it("asks for one slot at a time after one was refused, until one is granted", () => {
    const growth = new Growth();
    growth.acquiring = 3;
    growth.slotRefused(0);
    const later = LIMITS.smtp.growRetryMs;
    assert.equal(growth.allows(later, true), false, "two are still asked for");
    assert.equal(growth.allows(later, false), true);
    growth.slotRefused(0);
    growth.slotGranted();
    growth.acquiring = 1;
    assert.equal(growth.allows(later, true), true);
  });

  it("does not wait for a slot of its own that it has just released, unless the server wants no more", () => {
    const growth = new Growth();
    growth.acquiring = 1;
    growth.slotRefused(0);
    growth.slotReleased();
    assert.equal(growth.allows(0, true), true);
    growth.opening = 1;
    growth.openFailed(0, 1);
    growth.slotReleased();
    assert.equal(growth.allows(LIMITS.smtp.growBackoffMs - 1, true), false);
    assert.equal(growth.allows(LIMITS.smtp.growBackoffMs, true), true);
  });

  it("gives up only when nothing works and nothing is on the way", () => {
    const growth = new Growth();
    growth.opening = 2;
    assert.equal(growth.openFailed(0, 0), false);
    assert.equal(growth.allows(0, false), false, "the other end is awaited");
    assert.equal(growth.openFailed(0, 0), true);
    assert.equal(growth.allows(0, false), true);
  });

  it("backs off when the host refuses one beside others that work", () => {
    const growth = new Growth();
    growth.opening = 2;
    growth.openFailed(0, 0);
    growth.opened(100);
    assert.equal(growth.allows(100, true), false);
    assert.equal(growth.allows(100 + LIMITS.smtp.growBackoffMs, true), true);
    growth.opening = 1;
    assert.equal(growth.openFailed(10_000, 1), false);
    assert.equal(growth.allows(10_000, true), false);
  });

  it("opens one at a time for a while after a refusal", () => {
    const growth = new Growth();
    growth.opening = 1;
    growth.openFailed(0, 1);
    const now = LIMITS.smtp.growBackoffMs;
    assert.equal(growth.allows(now, true), true);
    growth.opening = 1;
    assert.deepEqual([growth.allows(now, true), growth.allows(now, false)], [false, false]);
    assert.equal(growth.allows(LIMITS.learnt.holdMs, true), true);
  });

  it("takes a session that turned out one too many for a refused one", () => {
    const growth = new Growth();
    growth.crowded(0, true);
    assert.equal(growth.allows(LIMITS.smtp.growBackoffMs - 1, true), false);
    assert.equal(growth.allows(LIMITS.smtp.growBackoffMs, true), true);
    const alone = new Growth();
    alone.crowded(0, false);
    assert.equal(alone.allows(LIMITS.learnt.crowdedWaitMs - 1, false), false);
    assert.equal(alone.allows(LIMITS.learnt.crowdedWaitMs, false), true);
  });

  it("is stuck from a refused slot to the next one granted or given back, idle ones also while the server wants no more", () => {
    const growth = new Growth();
    assert.equal(growth.isStuck(0, true), false);
    growth.acquiring = 3;
    growth.slotRefused(0);
    assert.equal(growth.isStuck(LIMITS.smtp.growRetryMs, false), true);
    growth.slotReleased();
    assert.equal(growth.isStuck(0, false), false);
    growth.slotRefused(0);
    growth.slotGranted();
    assert.deepEqual([growth.isStuck(0, false), growth.coming], [false, 0]);
    growth.crowded(0, true);
    assert.deepEqual([growth.isStuck(0, false), growth.isStuck(0, true)], [false, true]);
    growth.madeWay();
    const now = LIMITS.smtp.growRetryMs;
    assert.deepEqual([growth.isStuck(now, true), growth.allows(now, true)], [false, true]);
    growth.pause(0);
    growth.acquiring = 1;
    growth.slotRefused(0);
    assert.equal(growth.isStuck(0, true), false, "nobody is let in now");
  });

  it("opens nothing for a while when told to pause, not even a first one", () => {
    const growth = new Growth();
    growth.pause(0);
    assert.equal(growth.allows(LIMITS.learnt.crowdedWaitMs - 1, false), false);
    assert.equal(growth.allows(LIMITS.learnt.crowdedWaitMs, false), true);
    growth.pause(0, 6_000);
    assert.deepEqual([growth.allows(2_999, false), growth.allows(3_000, false)], [false, true]);
  });

  it("is wary for as long as an opening was refused not long ago", () => {
    const growth = new Growth();
    assert.equal(growth.isWary(0), false);
    growth.opening = 1;
    growth.openFailed(0, 1);
    assert.equal(growth.isWary(LIMITS.learnt.holdMs - 1), true);
    assert.equal(growth.isWary(Math.max(LIMITS.learnt.holdMs, LIMITS.smtp.growBackoffMs)), false);
  });
});
