import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const { idleReturnMs, flushEveryMs, releasesAtOnce } = LIMITS.quota;

/**
 * A ledger in memory: `leases` are those it has not heard the end of; one of a `locked` team is not released, and a
 * release of a `silent` one never ends.
 */
async function setUp(teams: number) {
  const clock = createFakeClock();
  const leases = new Map<string, string>();
  const locked = new Set<string>();
  const silent = new Set<string>();
  let failing = false;
  const ledger = quotaLedger({
    async lease(id, teamId) {
      leases.set(id, teamId);
      return { granted: 4, tranche: 4, day: "2026-01-01", msToMidnight: DAY_MS, committed: 0, leases: [] };
    },
    async release({ id }) {
      if (failing) throw new Error("Postgres is away");
      if (locked.has(leases.get(id) ?? "")) throw new Error("canceled on statement timeout");
      if (silent.has(leases.get(id) ?? "")) await new Promise(() => {});
      leases.delete(id);
    },
  });
  const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
  const actors = Array.from({ length: teams }, (_, at) => actorFor(`team_${at}`, { dailyQuota: 100 }));
  for (const actor of actors) (await quota.reserve(actor)).commit();
  assert.equal(leases.size, teams);
  return {
    ...{ clock, quota, leases, locked, silent, actors },
    fail(is: boolean) {
      failing = is;
    },
  };
}

describe("leases that go back", () => {
  it("are tried again at the next tick when the ledger was away", async () => {
    const { clock, quota, leases, fail } = await setUp(3);
    fail(true);
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.equal(leases.size, 3);
    fail(false);
    await clock.advanceAsync(flushEveryMs);
    assert.equal(leases.size, 0);
  });

  it("are forgotten once they are back: nothing of the team is leased here any more", async () => {
    const { clock, quota, leases, actors } = await setUp(2);
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.equal(leases.size, 0);
    const [actor] = actors;
    assert.ok(actor);
    // No unit of a returned lease is given out: another lease is asked for.
    (await quota.reserve(actor)).commit();
    assert.deepEqual([...leases.values()], [actor.teamId]);
  });

  it("are all reported when the process stops, except one that cannot be, however many are behind it", async () => {
    const { quota, leases, locked } = await setUp(2 * releasesAtOnce + 50);
    locked.add("team_0");
    await quota.drain();
    assert.deepEqual([...leases.values()], ["team_0"]);
  });

  it("do not wait for one whose release does not end, however many are behind it", async () => {
    const { clock, quota, leases, silent } = await setUp(250);
    silent.add("team_0");
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.deepEqual([...leases.values()], ["team_0"]);
  });

  it("wait, when the process goes, until one that failed before is told of", async () => {
    const { clock, quota, leases, locked } = await setUp(2);
    locked.add("team_1");
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.deepEqual([...leases.values()], ["team_1"]);
    locked.clear();
    await quota.drain();
    assert.equal(leases.size, 0);
  });
});
