import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { effectiveLimits } from "../../../../src/config/tiers.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { Lease } from "../../../../src/features/quota/lease.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import { TeamQuota } from "../../../../src/features/quota/team-quota.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { type Clock, DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { leaseStore } from "../../../support/lease-store.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const LIMIT = 100;
const MIDNIGHT_MS = 1_000;

function asked(limitsAsOfMs = 0, dailyQuota = LIMIT) {
  return { teamId: "team_1", limits: effectiveLimits("free", { dailyQuota }), limitsAsOfMs };
}

/** A team that leased units at time `nowMs`, `toMidnightMs` before its day ended. */
function lend(team: TeamQuota, nowMs: number, committed: number, toMidnightMs: number): void {
  const grant = {
    granted: 10,
    tranche: 10,
    committed,
    leases: [],
    day: "2026-01-01",
    msToMidnight: toMidnightMs,
  };
  const asked = { sentAtMs: nowMs, held: [], limit: team.limit };
  team.onAnswer(new Lease(`lease ${nowMs}`, grant, nowMs), grant, asked, nowMs);
}

describe("what is left of a team's day", () => {
  it("is the limit before the ledger has answered, and what it said less what was taken since", () => {
    const team = new TeamQuota(leaseStore(), asked());
    assert.equal(team.remaining(0), LIMIT);
    lend(team, 0, 30, MIDNIGHT_MS);
    team.takeLeased(1)?.commit();
    team.takeLeased(1);
    assert.equal(team.remaining(2), 68);
  });

  it("is all of the new day from its first moment", () => {
    const team = new TeamQuota(leaseStore(), asked());
    lend(team, 0, 90, MIDNIGHT_MS);
    team.takeLeased(1);
    assert.equal(team.remaining(MIDNIGHT_MS - 1), 9);
    assert.equal(team.remaining(MIDNIGHT_MS), LIMIT);
  });

  it("is not affected by units that yesterday's requests give back or have not reported", () => {
    const team = new TeamQuota(leaseStore(), asked());
    lend(team, 0, 90, MIDNIGHT_MS);
    const late = [team.takeLeased(1), team.takeLeased(1)];
    lend(team, MIDNIGHT_MS + 1, 0, DAY_MS - 1);
    assert.equal(team.remaining(MIDNIGHT_MS + 2), LIMIT);
    for (const reservation of late) reservation?.giveBack();
    assert.equal(team.remaining(MIDNIGHT_MS + 2), LIMIT);
    team.takeLeased(MIDNIGHT_MS + 2);
    assert.equal(team.remaining(MIDNIGHT_MS + 3), LIMIT - 1);
  });

  it("uses the limit that was read last, for every caller", () => {
    const team = new TeamQuota(leaseStore(), asked(2, 10));
    assert.equal(team.remaining(0, team.limitFor(asked(1, 40))), 10);
    assert.equal(team.remaining(0, team.limitFor(asked(3, 50))), 50);
    assert.equal(team.limit, 10, "looking changes nothing");
  });
});

describe("a team of which nothing is held", () => {
  it("is not forgotten while an answer may bring units, however late", () => {
    const team = new TeamQuota(leaseStore(), asked());
    team.unanswered = 1;
    assert.equal(team.isIdle, false);
    team.unanswered = 0;
    assert.equal(team.isIdle, true);
  });
});

describe("a refusal", () => {
  const refusal = (msToMidnight: number) => ({
    granted: 0,
    tranche: 0,
    committed: LIMIT,
    leases: [],
    day: "2026-01-01",
    msToMidnight,
  });
  const by = (limit: number) => ({ sentAtMs: 0, held: [], limit });

  it("holds for a while, but never beyond the end of the day, however late it came", () => {
    const team = new TeamQuota(leaseStore(), asked());
    team.onAnswer(null, refusal(MIDNIGHT_MS), by(LIMIT), 10);
    assert.equal(team.refusedUntilMs, 10 + LIMITS.quota.refusalMs);
    team.onAnswer(null, refusal(MIDNIGHT_MS), by(LIMIT), MIDNIGHT_MS - 10);
    assert.equal(team.refusedUntilMs, MIDNIGHT_MS);
  });

  it("that is older than a later one is ignored", () => {
    const team = new TeamQuota(leaseStore(), asked());
    team.onAnswer(null, refusal(MIDNIGHT_MS), { ...by(LIMIT), sentAtMs: 5 }, 10);
    const { refusedUntilMs } = team;
    team.onAnswer(null, refusal(MIDNIGHT_MS), { ...by(LIMIT), sentAtMs: 4 }, 20);
    assert.equal(team.refusedUntilMs, refusedUntilMs);
  });

  it("by a limit that was raised meanwhile says nothing, by one that was lowered it does", () => {
    const team = new TeamQuota(leaseStore(), asked());
    team.onAnswer(null, refusal(MIDNIGHT_MS), by(LIMIT - 1), 10);
    assert.equal(team.refusedUntilMs, Number.NEGATIVE_INFINITY);
    team.onAnswer(null, refusal(MIDNIGHT_MS), by(LIMIT + 1), 10);
    assert.equal(team.refusedUntilMs, 10 + LIMITS.quota.refusalMs);
  });
});

function createQuotaOf(clock: Clock) {
  const grant = { granted: 1, tranche: 1, day: "2026-01-01", msToMidnight: 9_500, committed: 0, leases: [] };
  return createQuota({
    ledger: quotaLedger({ lease: async () => grant }),
    clock,
    log: silentLog,
    metrics: createMetrics(),
  });
}

describe("the credentials of a team", () => {
  it("all report what is left of the limit that was read last", async () => {
    const clock = createFakeClock(Date.UTC(2026, 0, 1, 12));
    const quota = createQuotaOf(clock);
    const actors: Actor[] = [];
    /** A caller with this limit takes a unit and gives it back, so that the quota learns the limit. */
    const hear = async (dailyQuota: number, limitsAsOfMs: number) => {
      const actor = actorFor("team_1", { dailyQuota }, { limitsAsOfMs });
      actors.push(actor);
      (await quota.reserve(actor)).giveBack();
      return actors.map((one) => quota.snapshot(one).remaining);
    };
    assert.deepEqual(await hear(10, 2), [10]);
    assert.deepEqual(await hear(40, 1), [10, 10]);
    assert.deepEqual(await hear(50, 3), [50, 50, 50]);
    assert.deepEqual(await hear(20, 4), [20, 20, 20, 20]);
  });
});

describe("a snapshot", () => {
  it("counts the seconds to the end of the present day, also when the last answer was about an earlier one", async () => {
    const clock = createFakeClock(Date.UTC(2026, 0, 1, 23, 59, 50));
    const quota = createQuotaOf(clock);
    const actor = actorFor("team_1", { dailyQuota: 5 });
    assert.deepEqual(quota.snapshot(actor), { remaining: 5, resetS: 10 }, "by our clock");
    (await quota.reserve(actor)).commit();
    assert.deepEqual(quota.snapshot(actor), { remaining: 4, resetS: 10 }, "by the ledger's");
    clock.advance(9_500);
    assert.deepEqual(quota.snapshot(actor), { remaining: 5, resetS: 86_400 });
    clock.advance(3 * DAY_MS + 600);
    assert.deepEqual(quota.snapshot(actor), { remaining: 5, resetS: 86_400 });
  });
});
