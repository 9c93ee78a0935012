import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import type { LeaseGrant } from "../../../../src/features/quota/quota-ledger.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const { failureMs, ledgerTimeoutMs, idleReturnMs, flushEveryMs, releasesAtOnce } = LIMITS.quota;
/** So many units of a lease of eight, and it is time to ask for another. */
const HALF = 4;

/**
 * A ledger in memory: `asked` are the teams it was asked for, `leases` those it has not heard the end of; one of a `locked` team
 * is not released, and a release of a `silent` one never ends.
 */
function setUp() {
  const clock = createFakeClock();
  const asked: string[] = [];
  const leases = new Map<string, string>();
  const locked = new Set<string>();
  const silent = new Set<string>();
  /** Of the next statement alone. */
  let holding = false;
  let letGo = () => {};
  let failing = false;
  const ledger = quotaLedger({
    async lease(id, teamId, { want }): Promise<LeaseGrant> {
      asked.push(teamId);
      if (failing) throw new Error("Postgres is away");
      if (holding) {
        holding = false;
        await new Promise<void>((resolve) => {
          letGo = resolve;
        });
      }
      leases.set(id, teamId);
      const day = { day: "2026-01-01", msToMidnight: DAY_MS };
      return { granted: want, tranche: want, ...day, committed: 0, leases: [] };
    },
    async release({ id }) {
      if (failing) throw new Error("Postgres is away");
      if (locked.has(leases.get(id) ?? "")) throw new Error("canceled on statement timeout");
      if (silent.has(leases.get(id) ?? "")) await new Promise(() => {});
      leases.delete(id);
    },
  });
  const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
  const actorOf = (team: number) => actorFor(`team_${team}`, { dailyQuota: 1_000_000 });
  async function spend(count: number, team = 0): Promise<void> {
    for (let i = 0; i < count; i++) (await quota.reserve(actorOf(team))).commit();
  }
  return {
    ...{ clock, quota, asked, leases, locked, silent, spend },
    /** The team has seven units of a lease of eight: the first lease is four, the next, asked for in no time, twice as many. */
    async busyTeam(): Promise<void> {
      await spend(5);
      asked.length = 0;
    },
    /** Each of them has a lease. */
    async quietTeams(count: number): Promise<void> {
      for (let team = 0; team < count; team++) await spend(1, team);
      assert.equal(leases.size, count);
    },
    holdNext() {
      holding = true;
    },
    async answer() {
      letGo();
      await clock.advanceAsync(0);
    },
    fail(is: boolean) {
      failing = is;
    },
  };
}

describe("units that are asked for ahead of need", () => {
  it("are asked for once half of the last are used, before a request has to wait", async () => {
    const { asked, spend, busyTeam } = setUp();
    await busyTeam();
    await spend(HALF - 1);
    assert.deepEqual(asked, []);
    await spend(1);
    assert.deepEqual(asked, ["team_0"]);
    await spend(HALF);
    assert.equal(asked.length, 1, "what was granted is at hand");
  });

  it("are asked for again a moment after that failed, and no request is refused meanwhile", async () => {
    const { clock, asked, spend, busyTeam, fail } = setUp();
    await busyTeam();
    fail(true);
    await spend(HALF);
    assert.equal(asked.length, 1);
    await spend(1);
    assert.equal(asked.length, 1);
    fail(false);
    await clock.advanceAsync(failureMs);
    await spend(1);
    assert.equal(asked.length, 2);
    await spend(HALF);
  });

  it("go back when the ledger, which was silent, says at last that it has granted them", async () => {
    const { clock, quota, leases, spend, busyTeam, holdNext, answer } = setUp();
    await busyTeam();
    holdNext();
    await spend(HALF);
    await clock.advanceAsync(ledgerTimeoutMs);
    await answer();
    await quota.drain();
    assert.equal(leases.size, 0);
  });

  it("leave nothing behind of a process that goes while it is asking for them", async () => {
    const { clock, quota, leases, spend, busyTeam, holdNext, answer } = setUp();
    await busyTeam();
    holdNext();
    await spend(HALF);
    const drained = quota.drain();
    await answer();
    await drained;
    await clock.advanceAsync(ledgerTimeoutMs);
    assert.equal(leases.size, 0);
    assert.equal(clock.pending, 0);
  });
});

describe("leases that go back", () => {
  it("are tried again at the next tick when the ledger was away", async () => {
    const { clock, quota, leases, quietTeams, fail } = setUp();
    await quietTeams(3);
    fail(true);
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.equal(leases.size, 3);
    fail(false);
    await clock.advanceAsync(flushEveryMs);
    assert.equal(leases.size, 0);
  });

  it("are forgotten once they are back: nothing of the team is leased here any more", async () => {
    const { clock, quota, leases, quietTeams, spend } = setUp();
    await quietTeams(2);
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.equal(leases.size, 0);
    // No unit of a returned lease is given out: another lease is asked for.
    await spend(1);
    assert.deepEqual([...leases.values()], ["team_0"]);
  });

  it("are all reported when the process stops, except one that cannot be, however many are behind it", async () => {
    const { quota, leases, locked, quietTeams } = setUp();
    await quietTeams(2 * releasesAtOnce + 50);
    locked.add("team_0");
    await quota.drain();
    assert.deepEqual([...leases.values()], ["team_0"]);
  });

  it("do not wait for one whose release does not end, however many are behind it", async () => {
    const { clock, quota, leases, silent, quietTeams } = setUp();
    await quietTeams(250);
    silent.add("team_0");
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.deepEqual([...leases.values()], ["team_0"]);
  });

  it("wait, when the process goes, until one that failed before is told of", async () => {
    const { clock, quota, leases, locked, quietTeams } = setUp();
    await quietTeams(2);
    locked.add("team_1");
    quota.start();
    await clock.advanceAsync(idleReturnMs + flushEveryMs);
    assert.deepEqual([...leases.values()], ["team_1"]);
    locked.clear();
    await quota.drain();
    assert.equal(leases.size, 0);
  });
});
