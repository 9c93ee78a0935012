import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { effectiveLimits } from "../../../../src/core/tiers.ts";
import { Lease, type UnitReservation } from "../../../../src/services/quota/lease.ts";
import { TeamQuota } from "../../../../src/services/quota/team.ts";
import fc from "../../../support/properties.ts";

type Step =
  | { kind: "spend"; times: number }
  | { kind: "take"; times: number; isGivenBack: boolean }
  | { kind: "pass"; ms: number }
  | { kind: "grant"; granted: number; tranche: number; msToMidnight: number }
  | { kind: "refuse" }
  | { kind: "end"; place: number; times: number }
  | { kind: "report" }
  | { kind: "answer"; how: "flushed" | "failed" }
  | { kind: "drop"; place: number; how: "lost" | "retired" }
  | { kind: "retire"; all: boolean };

const USE_MS = LIMITS.quota.leaseUseMs;
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
      msToMidnight: fc.integer({ min: 1, max: 4 * USE_MS }),
    }),
  },
  fc.record({
    kind: fc.constant("pass"),
    // At times a fraction before or behind the end of what was granted just now.
    ms: fc.oneof(
      fc.double({ min: 0, max: USE_MS, noNaN: true }),
      fc.constantFrom(0.25, USE_MS - 0.25, USE_MS + 0.25),
    ),
  }),
  fc.record({ kind: fc.constant("refuse") }),
  fc.record({ kind: fc.constant("end"), place, times: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ kind: fc.constant("report") }),
  fc.record({ kind: fc.constant("answer"), how: fc.constantFrom("flushed", "failed") }),
  fc.record({ kind: fc.constant("drop"), place, how: fc.constantFrom("lost", "retired") }),
  fc.record({ kind: fc.constant("retire"), all: fc.boolean() }),
);

const ASKER = { teamId: "team_1", limits: effectiveLimits("free", { dailyQuota: 10_000 }), limitsAsOfMs: 0 };

/** A team, what it has in flight, and how its units are spent. */
class Side {
  readonly team = new TeamQuota(ASKER);
  readonly inFlight: (UnitReservation | null)[] = [];
  /** By lease. */
  readonly tranches = new Map<string, number>();
  readonly #reported: { lease: Lease; report: ReturnType<Lease["report"]> }[] = [];
  readonly #isCalm: boolean;

  constructor(isCalm: boolean) {
    this.#isCalm = isCalm;
  }

  /** @returns the lease, and whether nothing was said to be to look at */
  spend(nowMs: number): { id: string | null; isCalm: boolean } {
    const calm = this.#isCalm ? this.team.fastPathLease(nowMs) : null;
    const lease = calm ?? this.team.ready(nowMs);
    if (lease === null) return { id: null, isCalm: false };
    const isCalm = this.team.spend(lease, nowMs);
    assert.equal(isCalm, calm !== null);
    return { id: lease.id, isCalm };
  }

  do(step: Exclude<Step, { kind: "spend" | "pass" }>, at: number, nowMs: number): void {
    const { team, inFlight } = this;
    if (step.kind === "take")
      for (let i = 0; i < step.times; i++) {
        inFlight.push(team.take(nowMs));
        if (step.isGivenBack) inFlight.pop()?.giveBack();
      }
    if (step.kind === "end")
      for (const reservation of inFlight.splice(step.place, step.times)) reservation?.giveBack();
    if (step.kind === "retire") team.retire(nowMs, step.all);
    if (step.kind === "report") this.#report();
    if (step.kind === "answer") this.#answer(step.how === "flushed", nowMs);
    const dropped = step.kind === "drop" ? team.leases[step.place] : undefined;
    if (step.kind === "drop" && dropped !== undefined) dropped[step.how] = true;
    if (step.kind !== "grant" && step.kind !== "refuse") return;
    const { granted, tranche, msToMidnight } =
      step.kind === "grant" ? step : { granted: 0, tranche: 0, msToMidnight: 500 };
    const grant = { granted, tranche, committed: 100, leases: [], day: "2026-01-01", msToMidnight };
    this.tranches.set(`lease ${at}`, tranche);
    const lease = step.kind === "grant" ? new Lease(`lease ${at}`, grant, nowMs) : null;
    team.granted(lease, grant, { sentAtMs: nowMs, held: [...team.leases], limit: team.limit }, nowMs);
  }

  /** Of all leases that are not reported yet, as settling does it. */
  #report(): void {
    for (const lease of this.team.leases)
      if (!lease.busy) this.#reported.push({ lease, report: lease.report() });
  }

  #answer(isTold: boolean, nowMs: number): void {
    for (const { lease, report } of this.#reported.splice(0)) {
      lease.busy = false;
      if (isTold) lease.onFlushed(report, nowMs);
    }
  }

  /** The ledger would charge for all that was taken if this process vanished. */
  isCharged(): boolean {
    return this.team.leases.every(({ id, unreported: untold }) => untold <= (this.tranches.get(id) ?? 0));
  }
}

describe("a quota that is spent calmly", () => {
  it("is spent of the same leases, none beyond what the ledger would charge for, and leaves nothing to tell or ask for", () => {
    let calmly = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const [calm, plain] = [new Side(true), new Side(false)];
        let nowMs = 0;
        // What others learn of leases: until the team hears something itself it may be late to tell and to ask.
        let mayBeLate = false;
        for (const [at, one] of steps.entries()) {
          if (one.kind === "pass") nowMs += one.ms;
          if (one.kind === "grant" || one.kind === "refuse" || one.kind === "retire") mayBeLate = false;
          if (one.kind === "drop" || one.kind === "report" || one.kind === "answer") mayBeLate = true;
          if (one.kind !== "pass" && one.kind !== "spend")
            for (const side of [calm, plain]) side.do(one, at, nowMs);
          if (one.kind === "spend")
            for (let i = 0; i < one.times; i++) {
              const { id, isCalm } = calm.spend(nowMs);
              assert.equal(id, plain.spend(nowMs).id);
              if (isCalm) {
                assert.ok(mayBeLate || plain.team.leaseToFlush() === undefined);
                assert.ok(mayBeLate || !plain.team.wantsPrefetch(nowMs));
                calmly += 1;
              }
            }
          assert.ok(calm.isCharged() && plain.isCharged());
          assert.equal(calm.team.remaining(nowMs), plain.team.remaining(nowMs));
        }
        assert.deepEqual(
          calm.team.leases.map(({ taken }) => taken),
          plain.team.leases.map(({ taken }) => taken),
        );
      }),
      { numRuns: 2_000 },
    );
    assert.ok(calmly > 5_000, `${calmly}`);
  });

  it("is not spent beyond its tranche when units that were told come back and the ledger hears of that", () => {
    const team = new TeamQuota(ASKER);
    const grant = {
      granted: 4_000,
      tranche: 1_000,
      committed: 0,
      leases: [],
      day: "2026-01-01",
      msToMidnight: 9e6,
    };
    const lease = new Lease("lease", grant, 0);
    team.granted(lease, grant, { sentAtMs: 0, held: [], limit: team.limit }, 0);
    const inFlight = Array.from({ length: 900 }, () => team.take(1));
    lease.onFlushed(lease.report(), 1);
    lease.busy = false;
    for (const reservation of inFlight) reservation?.giveBack();
    const spend = (): boolean => {
      const ready = team.fastPathLease(2) ?? team.ready(2);
      if (ready !== null) team.spend(ready, 2);
      return ready !== null;
    };
    spend();
    // Under way with another team's, which is in a hurry.
    lease.report();
    while (spend()) assert.ok(lease.unreported <= grant.tranche, `${lease.unreported} untold`);
    assert.equal(lease.unreported, grant.tranche);
  });
});
