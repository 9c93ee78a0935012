import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import { createQuotaLedger, type QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { actorFor, newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const { sql } = await useDatabase();

const LIMIT = 1_000;

/** A process whose ledger acts at once, but whose answers to calls of `late` are withheld until released. */
async function setUp(late: "lease" | "flush" | "release", limit = LIMIT) {
  const { teamId } = await newTeam(sql);
  const actor = actorFor(teamId, { dailyQuota: limit });
  const clock = createFakeClock();
  const ledger = createQuotaLedger(sql);
  let waiting: (() => void)[] | null = null;
  let done = 0;
  const held = async <T>(work: Promise<T>): Promise<T> => {
    const value = await work;
    done += 1;
    await new Promise<void>((resolve) => (waiting === null ? resolve() : waiting.push(resolve)));
    return value;
  };
  /** Calls other than `late` that the process has no answer to yet. */
  let unanswered = 0;
  const counted = <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) => {
    return (...args: Args): Promise<T> => {
      unanswered += 1;
      return call(...args).finally(() => {
        unanswered -= 1;
      });
    };
  };
  const slow: QuotaLedger = {
    ...ledger,
    flush: counted(ledger.flush),
    release: counted(ledger.release),
    [late]: (...args: never[]) => held((ledger[late] as (...args: never[]) => Promise<unknown>)(...args)),
  };
  const quota = createQuota({ ledger: slow, clock, log: silentLog, metrics: createMetrics() });
  quota.start();
  const reserve = async () => quota.reserve(actor);
  const take = async (count: number) => {
    for (let i = 0; i < count; i++) (await reserve()).commit();
  };
  const told = (beatMs = 0) =>
    until("the ledger has done something more", async () => {
      await clock.advanceAsync(beatMs);
      return done > 0;
    });
  return {
    teamId,
    quota,
    clock,
    reserve,
    take,
    left: () => quota.snapshot(actor).remaining,
    used: async () => (await quota.view(teamId)).used,
    /** From now on answers are withheld. */
    hold() {
      waiting = [];
      done = 0;
    },
    /** Resolves once the ledger has done the work whose answer is withheld; moves the clock by `beatMs` until then. */
    told,
    hasAnswered: () => unanswered === 0,
    async release() {
      const all = waiting ?? [];
      waiting = null;
      for (const resolve of all) resolve();
      await clock.advanceAsync(0);
    },
  };
}

const { leaseFirst, flushEveryMs, idleReturnMs } = LIMITS.quota;

describe("what is left, to the unit, when answers of the ledger cross", () => {
  it("knows that a flush whose answer is late has been counted", async () => {
    const { quota, clock, take, left, used, ...ledger } = await setUp("flush");
    ledger.hold();
    await take(leaseFirst);
    await clock.advanceAsync(flushEveryMs);
    await ledger.told();
    await take(1);
    assert.deepEqual([left(), await used()], [LIMIT - leaseFirst - 1, leaseFirst + 1]);
    await ledger.release();
    assert.deepEqual([left(), await used()], [LIMIT - leaseFirst - 1, leaseFirst + 1]);
    await quota.drain();
    assert.equal(await used(), leaseFirst + 1);
  });

  it("knows that a lease whose release is not answered has been settled", async () => {
    const { quota, clock, take, left, used, ...ledger } = await setUp("release");
    await take(2);
    ledger.hold();
    await clock.advanceAsync(idleReturnMs);
    await ledger.told(flushEveryMs);
    await take(1);
    assert.deepEqual([left(), await used()], [LIMIT - 3, 3]);
    await ledger.release();
    assert.deepEqual([left(), await used()], [LIMIT - 3, 3]);
    await quota.drain();
    assert.equal(await used(), 3);
  });

  it("includes reports made after the grant of a lease whose answer is late", async () => {
    const { quota, clock, take, left, used, ...ledger } = await setUp("lease");
    await take(leaseFirst);
    ledger.hold();
    const late = take(1);
    await ledger.told();
    // The first lease is flushed, settled and forgotten before the late answer arrives, which does not show that.
    await clock.advanceAsync(flushEveryMs);
    await until("the first lease is settled", async () => {
      await clock.advanceAsync(0);
      const [row] = await sql<[{ used: number }]>`
        select used from quota_days where team_id = ${ledger.teamId}`;
      return row.used === leaseFirst && ledger.hasAnswered();
    });
    await ledger.release();
    await late;
    assert.deepEqual([left(), await used()], [LIMIT - leaseFirst - 1, leaseFirst + 1]);
    await quota.drain();
    assert.equal(await used(), leaseFirst + 1);
  });

  it("reuses a returned unit at once, though all of its lease was taken at the last flush", async () => {
    const { teamId, quota, clock, reserve, used } = await setUp("release", 1);
    (await reserve()).giveBack();
    for (let i = 0; i < 5; i++) {
      const unit = quota.reserve(actorFor(teamId, { dailyQuota: 1 }));
      assert.ok(!(unit instanceof Promise), "the ledger was asked");
      await clock.advanceAsync(flushEveryMs);
      unit.giveBack();
    }
    await quota.drain();
    assert.equal(await used(), 0);
  });

  it("refuses no request for a unit of its own that is being returned", async () => {
    const { teamId, quota, reserve, used } = await setUp("release", 2);
    (await reserve()).giveBack();
    // The lower limit retires the lease, which has the day's only unit now.
    const lowered = actorFor(teamId, { dailyQuota: 1 }, { limitsAsOfMs: 1 });
    (await quota.reserve(lowered)).commit();
    await assert.rejects(async () => quota.reserve(lowered), { code: "quota_exceeded" });
    await quota.drain();
    assert.equal(await used(), 1);
  });
});
