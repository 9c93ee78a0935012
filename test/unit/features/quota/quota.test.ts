import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import type { LeaseGrant, LeaseRequest, QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const NOTHING = { granted: 0, tranche: 0 };

/** A quota whose ledger answers each lease by `answer`, `statementMs` later. */
function setUp(statementMs: number, answer: (ask: LeaseRequest) => Pick<LeaseGrant, "granted" | "tranche">) {
  const clock = createFakeClock();
  const lease: QuotaLedger["lease"] = (_id, _teamId, ask) =>
    new Promise((resolve) => {
      const grant = { ...answer(ask), day: "2026-01-01", msToMidnight: DAY_MS, committed: 0, leases: [] };
      clock.after(statementMs, () => resolve(grant));
    });
  const quota = createQuota({
    ledger: quotaLedger({ lease }),
    clock,
    log: silentLog,
    metrics: createMetrics(),
  });
  /** "granted" or the code of the error, and when, milliseconds since the start. */
  async function reserve(actor: Actor): Promise<{ outcome: string; atMs: number }> {
    try {
      await quota.reserve(actor);
      return { outcome: "granted", atMs: clock.monotonic() };
    } catch (error) {
      assert.ok(error instanceof AppError, String(error));
      return { outcome: error.code, atMs: clock.monotonic() };
    }
  }
  return { clock, quota, reserve };
}

describe("units that are prepared", () => {
  it("are fetched ahead of need, and taken by the request that then comes", async () => {
    const grants: number[] = [];
    const { clock, quota, reserve } = setUp(10, ({ want }) => {
      grants.push(want);
      return { granted: want, tranche: want };
    });
    const actor = actorFor("team_1", { dailyQuota: 100 });
    assert.equal(quota.prepare(actor), "fetching");
    clock.advance(5);
    const reserved = reserve(actor);
    await clock.advanceAsync(5);
    assert.deepEqual(await reserved, { outcome: "granted", atMs: 10 });
    assert.equal(grants.length, 1);
    assert.equal(quota.prepare(actor), "ready", "there are more");
  });

  it("are not, of a team that was refused lately", async () => {
    const { clock, quota, reserve } = setUp(10, () => NOTHING);
    const actor = actorFor("team_1", { dailyQuota: 100 });
    const refused = reserve(actor);
    await clock.advanceAsync(10);
    assert.equal((await refused).outcome, "quota_exceeded");
    await clock.advanceAsync(LIMITS.quota.refusalMs + 1);
    assert.equal(quota.prepare(actor), "doubtful");
    await clock.advanceAsync(LIMITS.quota.refusedLatelyMs);
    assert.equal(quota.prepare(actor), "fetching");
  });
});

describe("a lease", () => {
  it("shrinks to a unit when a busy team's traffic has calmed", async () => {
    const grants: number[] = [];
    const { clock, quota } = setUp(1, ({ want }) => {
      grants.push(want);
      return { granted: want, tranche: want };
    });
    quota.start();
    const actor = actorFor("team_1", { dailyQuota: 1_000_000 });
    const spend = async (count: number, thenMs: number) => {
      const taken = Array.from({ length: count }, async () => (await quota.reserve(actor)).commit());
      await clock.advanceAsync(thenMs);
      await Promise.all(taken);
    };
    for (let i = 0; i < 400; i++) await spend(100, 10);
    assert.equal(Math.max(...grants), LIMITS.quota.leaseMax);
    for (let i = 0; i < 20; i++) await spend(1, 1_850);
    assert.equal(grants.at(-1), 1);
    await quota.drain();
  });
});

describe("a request that waits for a unit", () => {
  it("waits for a few statements, also when all that is left is waited for", async () => {
    let left = 1_000;
    const { clock, reserve } = setUp(60, ({ want, share }) => {
      const granted = Math.min(want, left, Math.max(1, Math.floor(left / share)));
      left -= granted;
      return { granted, tranche: granted };
    });
    const actor = actorFor("team_1", { dailyQuota: 1_000 });
    const all = Promise.all(Array.from({ length: 1_000 }, () => reserve(actor)));
    await clock.advanceAsync(600);
    const outcomes = await all;
    assert.ok(outcomes.every(({ outcome }) => outcome === "granted"));
    assert.ok(outcomes.every(({ atMs }) => atMs <= 600));
  });

  it("is turned away after a while, however many statements are answered meanwhile", async () => {
    const { clock, reserve } = setUp(3_500, () => ({ granted: 1, tranche: 1 }));
    const actor = actorFor("team_1", { dailyQuota: 1_000 });
    const all = Promise.all([reserve(actor), reserve(actor), reserve(actor)]);
    await clock.advanceAsync(10_000);
    assert.deepEqual(await all, [
      { outcome: "granted", atMs: 3_500 },
      { outcome: "unavailable", atMs: LIMITS.quota.waitMs },
      { outcome: "unavailable", atMs: LIMITS.quota.waitMs },
    ]);
    assert.equal(clock.pending, 0);
  });

  it("is not refused because a question failed that no request waited for, only because of one that requests waited for", async () => {
    let failing = true;
    const { clock, quota, reserve } = setUp(10, () => {
      if (failing) throw new Error("the connection was lost");
      return { granted: 1, tranche: 1 };
    });
    const actor = actorFor("team_1", { dailyQuota: 100 });
    assert.equal(quota.prepare(actor), "fetching");
    await clock.advanceAsync(1);
    assert.equal(quota.prepare(actor), "doubtful", "it has failed");
    failing = false;
    const asked = reserve(actor);
    await clock.advanceAsync(10);
    assert.deepEqual(await asked, { outcome: "granted", atMs: 11 });
    failing = true;
    assert.deepEqual(await reserve(actor), { outcome: "unavailable", atMs: 11 });
    failing = false;
    assert.deepEqual(
      await reserve(actor),
      { outcome: "unavailable", atMs: 11 },
      "it is not asked again at once",
    );
  });

  it("by a limit that was raised is not refused by the answer to a question about the old one", async () => {
    const { clock, reserve } = setUp(10, ({ limit }) => (limit > 1 ? { granted: 4, tranche: 4 } : NOTHING));
    const early = reserve(actorFor("team_1", { dailyQuota: 1 }, { limitsAsOfMs: 1 }));
    const raised = reserve(actorFor("team_1", { dailyQuota: 5 }, { limitsAsOfMs: 2 }));
    await clock.advanceAsync(50);
    assert.equal((await early).outcome, "granted");
    assert.equal((await raised).outcome, "granted");
  });
});
