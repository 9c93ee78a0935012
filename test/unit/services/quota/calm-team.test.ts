import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../../../../src/core/limits.ts";
import { effectiveLimits } from "../../../../src/core/tiers.ts";
import { Lease, type Reservation } from "../../../../src/services/quota/lease.ts";
import { TeamQuota } from "../../../../src/services/quota/team.ts";

type Step =
  | { kind: "spend"; times: number }
  | { kind: "take"; times: number; isGivenBack: boolean }
  | { kind: "pass"; ms: number }
  | { kind: "grant"; granted: number; tranche: number; msToMidnight: number }
  | { kind: "refuse" }
  | { kind: "end"; place: number }
  | { kind: "flush"; place: number; how: "flushed" | "failed" | "lost" | "retired" }
  | { kind: "retire"; all: boolean };

const place = fc.nat({ max: 3 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("spend"), times: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("take"),
      times: fc.integer({ min: 1, max: 60 }),
      isGivenBack: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("grant"),
      granted: fc.integer({ min: 1, max: 1_000 }),
      tranche: fc.integer({ min: 1, max: 1_000 }),
      msToMidnight: fc.integer({ min: 1, max: 4 * LIMITS.quota.leaseUseMs }),
    }),
  },
  fc.record({
    kind: fc.constant("pass"),
    ms: fc.double({ min: 0, max: LIMITS.quota.leaseUseMs, noNaN: true }),
  }),
  fc.record({ kind: fc.constant("refuse") }),
  fc.record({ kind: fc.constant("end"), place }),
  fc.record({
    kind: fc.constant("flush"),
    place,
    how: fc.constantFrom("flushed", "failed", "lost", "retired"),
  }),
  fc.record({ kind: fc.constant("retire"), all: fc.boolean() }),
);

const ASKER = { teamId: "team_1", limits: effectiveLimits("free", { dailyQuota: 10_000 }), limitsAsOfMs: 0 };

/** A team, what it has in flight, and how its units are spent. */
class Side {
  readonly team = new TeamQuota(ASKER);
  readonly inFlight: (Reservation | null)[] = [];
  readonly #isCalm: boolean;
  calmly = 0;

  constructor(isCalm: boolean) {
    this.#isCalm = isCalm;
  }

  /** @returns the lease, and whether nothing was said to be to look at */
  spend(nowMs: number): { id: string | null; isCalm: boolean } {
    const calm = this.#isCalm ? this.team.calm(nowMs) : null;
    const lease = calm ?? this.team.ready(nowMs);
    if (lease === null) return { id: null, isCalm: false };
    this.team.spend(lease, nowMs);
    return { id: lease.id, isCalm: calm !== null };
  }

  do(step: Exclude<Step, { kind: "spend" | "pass" }>, at: number, nowMs: number): void {
    const { team, inFlight } = this;
    if (step.kind === "take")
      for (let i = 0; i < step.times; i++) {
        inFlight.push(team.take(nowMs));
        if (step.isGivenBack) inFlight.pop()?.giveBack();
      }
    if (step.kind === "end") inFlight.splice(step.place, 1)[0]?.giveBack();
    if (step.kind === "retire") team.retire(nowMs, step.all);
    if (step.kind === "flush") this.#flush(step, nowMs);
    if (step.kind !== "grant" && step.kind !== "refuse") return;
    const { granted, tranche, msToMidnight } =
      step.kind === "grant" ? step : { granted: 0, tranche: 0, msToMidnight: 500 };
    const grant = { granted, tranche, committed: 100, leases: [], day: "2026-01-01", msToMidnight };
    const lease = step.kind === "grant" ? new Lease(`lease ${at}`, grant, nowMs) : null;
    team.granted(lease, grant, { sentAtMs: nowMs, held: [...team.leases], limit: team.limit }, nowMs);
  }

  #flush({ place, how }: Step & { kind: "flush" }, nowMs: number): void {
    const lease = this.team.leases[place];
    if (lease === undefined) return;
    const report = lease.report();
    lease.busy = false;
    if (how === "flushed") lease.flushed(report, nowMs);
    if (how === "lost" || how === "retired") lease[how] = true;
  }
}

describe("a quota that is spent calmly", () => {
  it("is spent of the same leases, and leaves nothing to tell and nothing to ask for", () => {
    let calmly = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const [calm, plain] = [new Side(true), new Side(false)];
        let nowMs = 0;
        // Of that nobody is told: until the next answer units may be asked for late.
        let isLost = false;
        for (const [at, one] of steps.entries()) {
          if (one.kind === "pass") nowMs += one.ms;
          if (one.kind === "grant" || one.kind === "refuse" || one.kind === "retire") isLost = false;
          if (one.kind === "flush" && (one.how === "lost" || one.how === "retired")) isLost = true;
          if (one.kind !== "pass" && one.kind !== "spend")
            for (const side of [calm, plain]) side.do(one, at, nowMs);
          if (one.kind === "spend")
            for (let i = 0; i < one.times; i++) {
              const { id, isCalm } = calm.spend(nowMs);
              assert.equal(id, plain.spend(nowMs).id);
              if (isCalm) {
                assert.equal(plain.team.leaseToFlush(), undefined);
                assert.ok(isLost || !plain.team.wantsPrefetch(nowMs));
                calmly += 1;
              }
            }
          assert.equal(calm.team.remaining(ASKER, nowMs), plain.team.remaining(ASKER, nowMs));
        }
        assert.deepEqual(
          calm.team.leases.map(({ taken }) => taken),
          plain.team.leases.map(({ taken }) => taken),
        );
      }),
      { numRuns: 1_000 },
    );
    assert.ok(calmly > 200, `${calmly}`);
  });
});
