import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createLeaseSettler } from "../../../../src/features/quota/lease-settler.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import type { LeaseGrant, QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { TeamQuota } from "../../../../src/features/quota/team-quota.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const { failureMs, ledgerTimeoutMs } = LIMITS.quota;
/** So many units of a lease of eight, and it is time to ask for another. */
const HALF = 4;

/** A ledger whose answers are the test's: `asked` are the teams it was asked for, `leases` what it has not heard the end of. */
function setUp() {
  const clock = createFakeClock();
  const asked: string[] = [];
  const leases = new Map<string, string>();
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
      return {
        granted: want,
        tranche: want,
        day: "2026-01-01",
        msToMidnight: DAY_MS,
        committed: 0,
        leases: [],
      };
    },
    release: async ({ id }) => void leases.delete(id),
  });
  const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
  const actor = actorFor("team_1", { dailyQuota: 1_000_000 });
  async function spend(count: number): Promise<void> {
    for (let i = 0; i < count; i++) (await quota.reserve(actor)).commit();
  }
  /** The team has seven units of a lease of eight: the first lease is four, the next, asked for in no time, twice as many. */
  async function busyTeam(): Promise<void> {
    await spend(5);
    asked.length = 0;
  }
  return {
    ...{ clock, quota, asked, leases, spend, busyTeam },
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

describe("a team of which nothing is held", () => {
  it("is not forgotten while an answer may bring units, however late", () => {
    const team = new TeamQuota(actorFor("team_1", { dailyQuota: 10 }));
    const teams = new Map([[team.id, team]]);
    const ledger = {} as QuotaLedger;
    const settling = createLeaseSettler({ ledger, clock: createFakeClock(), log: silentLog, teams });
    team.unanswered = 1;
    settling.forgetIdle();
    assert.equal(teams.size, 1);
    team.unanswered = 0;
    settling.forgetIdle();
    assert.equal(teams.size, 0);
  });
});

describe("units that are asked for ahead of need", () => {
  it("are asked for once half of the last are used, before a request has to wait", async () => {
    const { asked, spend, busyTeam } = setUp();
    await busyTeam();
    await spend(HALF - 1);
    assert.deepEqual(asked, []);
    await spend(1);
    assert.deepEqual(asked, ["team_1"]);
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
