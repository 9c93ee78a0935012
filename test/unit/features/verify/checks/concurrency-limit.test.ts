import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  createConcurrencyLimit,
  type LoadSample,
} from "../../../../../src/features/verify/checks/concurrency-limit.ts";

const LIMITED = LIMITS.inFlightChecks.admission;
const { first, least, leastBusy, targetMs, lookMs } = LIMITED;
const BUSY: LoadSample = { waitMs: 0.6 * targetMs, idle: 0, refused: true, young: first, peak: first };

function looking() {
  const ceiling = createConcurrencyLimit(LIMITED);
  let nowMs = 0;
  return {
    ceiling,
    /** @returns the limit after so many such looks */
    see(looks: number, seen: Partial<LoadSample> = {}): number {
      for (let i = 0; i < looks; i++) {
        nowMs += lookMs;
        ceiling.look(nowMs, { ...BUSY, ...seen });
      }
      return ceiling.limit();
    },
  };
}

describe("the ceiling of young checks", () => {
  it("makes room for refusals while the loop refuses and never rests, and gives it back once it does", () => {
    const { see, ceiling } = looking();
    assert.equal(see(1), first * LIMITED.trim);
    assert.ok(ceiling.isSaturated());
    assert.equal(see(20), leastBusy);
    const rested = { waitMs: 0, idle: 0.1 };
    assert.equal(see(1, { ...rested, peak: leastBusy }), leastBusy * LIMITED.slowGrowth);
    assert.ok(!ceiling.isSaturated());
    assert.equal(see(200, { ...rested, peak: LIMITED.most }), LIMITED.most);
  });

  it("admits no fewer while checks do not wait, though it refuses and is never idle: refused clients may ask again at once", () => {
    const { see, ceiling } = looking();
    assert.ok(see(100, { waitMs: 0.4 * targetMs, peak: LIMITED.most }) > first);
    assert.ok(ceiling.isSaturated());
  });

  it("takes an event loop that is never idle for a healthy one while no check is refused, however long", () => {
    const { see, ceiling } = looking();
    assert.ok(see(100, { refused: false }) >= first);
    assert.ok(!ceiling.isSaturated());
  });

  it("takes refusals for healthy where the loop rests", () => {
    const { see } = looking();
    assert.ok(see(100, { idle: LIMITED.restShare }) >= first);
  });

  it("cuts at the second long wait in a row where it rests", () => {
    const { see } = looking();
    const long = { waitMs: 4 * targetMs, idle: 0.5 };
    assert.equal(see(1, long), first);
    assert.equal(see(1, { waitMs: 0, idle: 0.5, peak: 0 }), first);
    assert.equal(see(1, long), first);
    assert.equal(see(1, long), Math.max(least, first / 2));
  });

  it("goes below its least for nothing but a loop that stays busy, and never below the other", () => {
    const { see } = looking();
    assert.equal(see(100, { waitMs: 10_000, refused: false, young: 200 }), least);
    assert.equal(see(100), leastBusy);
  });

  it("makes room quicker where checks wait for too long besides", () => {
    const [quick, slow] = [looking(), looking()];
    assert.ok(quick.see(3, { waitMs: 2 * targetMs }) < slow.see(3));
  });

  it("forgets all of it", () => {
    const { see, ceiling } = looking();
    see(20);
    ceiling.reset();
    assert.deepEqual([ceiling.limit(), ceiling.isSaturated()], [first, false]);
  });
});
