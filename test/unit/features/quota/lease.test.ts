import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { Lease, reserveUnit, type UnitReservation } from "../../../../src/features/quota/lease.ts";
import fc from "../../../support/properties.ts";

const HOUR_MS = 3_600_000;

function lease(granted: number, tranche: number, msToMidnight = HOUR_MS): Lease {
  return new Lease("id", { granted, tranche, day: "2026-01-01", msToMidnight }, 0);
}

describe("a lease", () => {
  it("gives out no more than it has, nor than its tranche beyond the last report", () => {
    const held = lease(10, 3);
    let taken = 0;
    for (; held.canTake(0); taken++) held.take(0);
    assert.equal(taken, 3);
    assert.equal(held.isHeldUp(0), true);
    held.onFlushed(held.report(), 0);
    assert.equal(held.isHeldUp(0), false);
    for (; held.canTake(0); taken++) held.take(0);
    assert.equal(taken, 6);
  });

  it("ends with its time of use, and with the day", () => {
    assert.equal(lease(1, 1).canTake(LIMITS.quota.leaseUseMs - 1), true);
    assert.equal(lease(1, 1).canTake(LIMITS.quota.leaseUseMs), false);
    assert.equal(lease(1, 1, 5).canTake(5), false);
    assert.ok(LIMITS.quota.leaseUseMs < LIMITS.quota.leaseTtlMs);
  });

  it("never gives out more than the ledger would charge, whatever is lost in transit", () => {
    const act = fc.constantFrom("take", "giveBack", "flushOk", "flushLost", "flushAppliedButLost");
    fc.assert(
      fc.property(
        fc.array(act, { maxLength: 200 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 8 }),
        (script, granted, tranche) => {
          const held = lease(granted, tranche);
          let ledgerKnows = 0;
          const open: UnitReservation[] = [];
          for (const step of script) {
            if (step === "take" && held.canTake(0)) {
              held.take(0);
              open.push(reserveUnit(held, () => undefined));
            } else if (step === "giveBack") {
              open.shift()?.giveBack();
            } else if (step.startsWith("flush")) {
              const report = held.report();
              if (step !== "flushLost") ledgerKnows = report.taken;
              if (step === "flushOk") held.onFlushed(report, 0);
              held.busy = false;
            }
            assert.ok(held.taken <= Math.min(granted, ledgerKnows + tranche));
            assert.equal(held.taken, open.length);
          }
        },
      ),
    );
  });

  it("that is settled takes nothing back", () => {
    const held = lease(2, 2);
    held.take(0);
    const reservation = reserveUnit(held, () => assert.fail("the ledger has charged it"));
    held.settled = true;
    reservation.giveBack();
    assert.equal(held.taken, 1);
    assert.equal(held.canTake(0), false);
  });

  it("that waits for units in flight is renewed, and released again as they come back", () => {
    const held = lease(5, 5);
    held.take(0);
    held.take(0);
    const reservation = reserveUnit(held, () => undefined);
    held.retired = true;
    assert.equal(held.wantsRelease, true);
    held.onShrunk(held.report(), 0);
    held.busy = false;
    assert.equal(held.granted, 2);
    assert.equal(held.wantsRelease, false);
    assert.equal(held.isDirty(LIMITS.quota.renewEveryMs - 1), false);
    assert.equal(held.isDirty(LIMITS.quota.renewEveryMs), true);
    reservation.giveBack();
    assert.equal(held.wantsRelease, true);
    assert.ok(LIMITS.quota.renewEveryMs * 2 < LIMITS.quota.leaseTtlMs);
  });
});
