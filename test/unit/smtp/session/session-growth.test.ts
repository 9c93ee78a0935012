import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { SessionGrowth } from "../../../../src/smtp/session/session-growth.ts";

describe("the growth of a host", () => {
  it("waits after a slot was refused, but never holds back the first session", () => {
    const growth = new SessionGrowth();
    growth.acquiring = 1;
    growth.onSlotRefused(0);
    assert.equal(growth.pending, 0);
    assert.equal(growth.mayOpen(LIMITS.smtp.growRetryMs - 1, true), false);
    assert.equal(growth.mayOpen(0, false), true);
    assert.equal(growth.mayOpen(LIMITS.smtp.growRetryMs, true), true);
  });

  it("asks for one slot at a time after one was refused, until one is granted", () => {
    const growth = new SessionGrowth();
    growth.acquiring = 3;
    growth.onSlotRefused(0);
    const later = LIMITS.smtp.growRetryMs;
    assert.equal(growth.mayOpen(later, true), false, "two are still asked for");
    assert.equal(growth.mayOpen(later, false), true);
    growth.onSlotRefused(0);
    growth.onSlotGranted();
    growth.acquiring = 1;
    assert.equal(growth.mayOpen(later, true), true);
  });

  it("does not wait for a slot of its own that it has just released, unless the server wants no more", () => {
    const growth = new SessionGrowth();
    growth.acquiring = 1;
    growth.onSlotRefused(0);
    growth.onSlotReleased();
    assert.equal(growth.mayOpen(0, true), true);
    growth.opening = 1;
    growth.onOpenFailed(0, 1);
    growth.onSlotReleased();
    assert.equal(growth.mayOpen(LIMITS.smtp.growBackoffMs - 1, true), false);
    assert.equal(growth.mayOpen(LIMITS.smtp.growBackoffMs, true), true);
  });

  it("gives up only when no session works and none is being opened", () => {
    const growth = new SessionGrowth();
    growth.opening = 2;
    assert.equal(growth.onOpenFailed(0, 0), false);
    assert.equal(growth.mayOpen(0, false), false, "the other end is awaited");
    assert.equal(growth.onOpenFailed(0, 0), true);
    assert.equal(growth.mayOpen(0, false), true);
  });

  it("backs off when the host refuses one beside others that work", () => {
    const growth = new SessionGrowth();
    growth.opening = 2;
    growth.onOpenFailed(0, 0);
    growth.onOpened(100);
    assert.equal(growth.mayOpen(100, true), false);
    assert.equal(growth.mayOpen(100 + LIMITS.smtp.growBackoffMs, true), true);
    growth.opening = 1;
    assert.equal(growth.onOpenFailed(10_000, 1), false);
    assert.equal(growth.mayOpen(10_000, true), false);
  });

  it("opens one at a time for a while after a refusal", () => {
    const growth = new SessionGrowth();
    growth.opening = 1;
    growth.onOpenFailed(0, 1);
    const now = LIMITS.smtp.growBackoffMs;
    assert.equal(growth.mayOpen(now, true), true);
    growth.opening = 1;
    assert.deepEqual([growth.mayOpen(now, true), growth.mayOpen(now, false)], [false, false]);
    assert.equal(growth.mayOpen(LIMITS.learned.holdMs, true), true);
  });

  it("takes a session that turned out one too many for a refused one", () => {
    const growth = new SessionGrowth();
    growth.onCrowded(0, true);
    assert.equal(growth.mayOpen(LIMITS.smtp.growBackoffMs - 1, true), false);
    assert.equal(growth.mayOpen(LIMITS.smtp.growBackoffMs, true), true);
    const alone = new SessionGrowth();
    alone.onCrowded(0, false);
    assert.equal(alone.mayOpen(LIMITS.learned.crowdedWaitMs - 1, false), false);
    assert.equal(alone.mayOpen(LIMITS.learned.crowdedWaitMs, false), true);
  });

  it("is stuck from a refused slot to the next one granted or given back, idle ones also while the server wants no more", () => {
    const growth = new SessionGrowth();
    assert.equal(growth.isStuck(0, true), false);
    growth.acquiring = 3;
    growth.onSlotRefused(0);
    assert.equal(growth.isStuck(LIMITS.smtp.growRetryMs, false), true);
    growth.onSlotReleased();
    assert.equal(growth.isStuck(0, false), false);
    growth.onSlotRefused(0);
    growth.onSlotGranted();
    assert.deepEqual([growth.isStuck(0, false), growth.pending], [false, 0]);
    growth.onCrowded(0, true);
    assert.deepEqual([growth.isStuck(0, false), growth.isStuck(0, true)], [false, true]);
    growth.onSessionReplaced();
    const now = LIMITS.smtp.growRetryMs;
    assert.deepEqual([growth.isStuck(now, true), growth.mayOpen(now, true)], [false, true]);
    growth.pause(0);
    growth.acquiring = 1;
    growth.onSlotRefused(0);
    assert.equal(growth.isStuck(0, true), false, "nobody is let in now");
  });

  it("opens no session during a pause, not even a first one", () => {
    const growth = new SessionGrowth();
    growth.pause(0);
    assert.equal(growth.mayOpen(LIMITS.learned.crowdedWaitMs - 1, false), false);
    assert.equal(growth.mayOpen(LIMITS.learned.crowdedWaitMs, false), true);
    growth.pause(0, 6_000);
    assert.deepEqual([growth.mayOpen(2_999, false), growth.mayOpen(3_000, false)], [false, true]);
  });

  it("is wary for as long as an opening was refused not long ago", () => {
    const growth = new SessionGrowth();
    assert.equal(growth.isCautious(0), false);
    growth.opening = 1;
    growth.onOpenFailed(0, 1);
    assert.equal(growth.isCautious(LIMITS.learned.holdMs - 1), true);
    assert.equal(growth.isCautious(Math.max(LIMITS.learned.holdMs, LIMITS.smtp.growBackoffMs)), false);
  });
});
