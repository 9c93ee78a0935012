import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createLeaseSettler } from "../../../../src/features/quota/lease-settler.ts";
import { createQuota } from "../../../../src/features/quota/quota.ts";
import type { LeaseGrant, QuotaLedger } from "../../../../src/features/quota/quota-ledger.ts";
import { TeamQuota } from "../../../../src/features/quota/team-quota.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { DAY_MS } from "../../../../src/platform/time/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { quotaLedger } from "../../../support/quota-ledger.ts";
import { actorFor, silentLog } from "../../../support/store.ts";

const { aheadEveryMs, steadyIntervals: steadyBeats, ledgerTimeoutMs } = LIMITS.quota;
/** A team that needs so long for half of its lease is asked for with the others. */
const CALM_MS = aheadEveryMs * steadyBeats;
/** So many units of a lease of eight, and it is time to ask for another. */
const HALF = 4;

interface Statement {
  kind: "alone" | "together";
  teams: string[];
  wants: number[];
}

/** A ledger whose answers are the test's: `statements` are what it was asked, `leases` what it has not heard the end of. */
function setUp() {
  const clock = createFakeClock();
  const statements: Statement[] = [];
  const leases = new Map<string, string>();
  const locked = new Set<string>();
  /** Of the next statement alone. */
  let holding = false;
  let letGo = () => {};
  let failing = false;
  const grantTo = (id: string, teamId: string, want: number): LeaseGrant => {
    leases.set(id, teamId);
    return {
      granted: want,
      tranche: want,
      day: "2026-01-01",
      msToMidnight: DAY_MS,
      committed: 0,
      leases: [],
    };
  };
  async function ask(statement: Statement): Promise<void> {
    statements.push(statement);
    if (failing) throw new Error("Postgres is away");
    if (!holding) return;
    holding = false;
    await new Promise<void>((resolve) => {
      letGo = resolve;
    });
  }
  const ledger = quotaLedger({
    async lease(id, teamId, { want }) {
      await ask({ kind: "alone", teams: [teamId], wants: [want] });
      return grantTo(id, teamId, want);
    },
    async leaseTogether(asks) {
      await ask({
        kind: "together",
        teams: asks.map(({ teamId }) => teamId),
        wants: asks.map(({ want }) => want),
      });
      const free = asks.filter(({ teamId }) => !locked.has(teamId));
      return new Map(free.map(({ id, teamId, want }) => [id, grantTo(id, teamId, want)]));
    },
    release: async ({ id }) => void leases.delete(id),
    async releaseTogether(reports) {
      for (const { id } of reports) leases.delete(id);
      return new Set(reports.map(({ id }) => id));
    },
  });
  const quota = createQuota({ ledger, clock, log: silentLog, metrics: createMetrics() });
  const actors = [0, 1, 2].map((at) => actorFor(`team_${at}`, { dailyQuota: 1_000_000 }));
  async function spend(actor: Actor, count: number): Promise<void> {
    for (let i = 0; i < count; i++) (await quota.reserve(actor)).commit();
  }
  /** All teams have seven units of a lease of eight, had just now: the first lease is four, the next, asked for in no time, twice as many. */
  async function busyTeams(): Promise<void> {
    for (const actor of actors) await spend(actor, 5);
    assert.ok(statements.every(({ kind }) => kind === "alone"));
    statements.length = 0;
  }
  return {
    ...{ clock, quota, actors, statements, leases, locked, spend, busyTeams },
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
  it("are those of all teams in one statement, at the next beat, where what is left will last so long", async () => {
    const { clock, actors, statements, spend, busyTeams } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    for (const actor of actors) await spend(actor, HALF);
    assert.deepEqual(statements, []);
    await clock.advanceAsync(aheadEveryMs);
    assert.deepEqual(statements, [
      { kind: "together", teams: ["team_0", "team_1", "team_2"], wants: [8, 8, 8] },
    ]);
    // What was granted is at hand: nobody asks for it.
    for (const actor of actors) await spend(actor, 6);
    assert.equal(statements.length, 1);
  });

  it("are asked for at once where the half that is used was gone sooner", async () => {
    const { clock, actors, statements, spend, busyTeams } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS - 1);
    for (const actor of actors) await spend(actor, HALF);
    assert.deepEqual(
      statements.map(({ kind }) => kind),
      ["alone", "alone", "alone"],
    );
  });

  it("are asked for at once when somebody waits for them, and not again at the beat", async () => {
    const { clock, actors, statements, spend, busyTeams } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    const [actor] = actors as [Actor];
    await spend(actor, 8);
    assert.deepEqual(
      statements.map(({ kind, teams }) => [kind, teams]),
      [["alone", ["team_0"]]],
    );
    await clock.advanceAsync(2 * aheadEveryMs);
    assert.equal(statements.length, 1);
  });

  it("do not make a request wait that needs one while the statement is under way: it asks by itself", async () => {
    const { clock, quota, actors, statements, spend, busyTeams, holdNext, answer } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    const [actor] = actors as [Actor];
    await spend(actor, HALF);
    holdNext();
    await clock.advanceAsync(aheadEveryMs);
    await clock.advanceAsync(1);
    // Three are left.
    await spend(actor, 4);
    assert.deepEqual(
      statements.map(({ kind }) => kind),
      ["together", "alone"],
    );
    const { remaining } = quota.snapshot(actor);
    await answer();
    assert.equal(quota.snapshot(actor).remaining, remaining, "an older answer says nothing new");
  });

  it("are asked for by the next request of a team that the statement passed over, no more than before", async () => {
    const { clock, actors, statements, spend, busyTeams, locked } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    for (const actor of actors) await spend(actor, HALF);
    locked.add("team_1");
    await clock.advanceAsync(aheadEveryMs);
    const [together] = statements.splice(0);
    assert.deepEqual(together?.teams, ["team_0", "team_1", "team_2"]);
    for (const actor of actors) await spend(actor, 1);
    assert.deepEqual(statements, [{ kind: "alone", teams: ["team_1"], wants: together?.wants.slice(1, 2) }]);
  });

  it("are asked for one by one for a while after that failed, and no request is refused", async () => {
    const { clock, quota, actors, statements, leases, spend, busyTeams, fail, holdNext, answer } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    const [actor, other] = actors as [Actor, Actor];
    await spend(actor, HALF);
    fail(true);
    await clock.advanceAsync(aheadEveryMs);
    assert.deepEqual(
      statements.splice(0).map(({ kind }) => kind),
      ["together"],
    );
    fail(false);
    await spend(actor, 4);
    assert.deepEqual(
      statements.splice(0).map(({ kind }) => kind),
      ["alone"],
    );
    // Of a ledger that is silent nobody knows what it has granted, until it says so.
    await spend(other, HALF);
    holdNext();
    await clock.advanceAsync(aheadEveryMs);
    assert.equal(statements.splice(0).length, 1);
    await clock.advanceAsync(ledgerTimeoutMs);
    await spend(other, 4);
    await answer();
    await quota.drain();
    assert.equal(leases.size, 0);
  });

  it("leave nothing behind of a process that goes while it is asking for them, whoever is passed over", async () => {
    const { clock, quota, actors, leases, spend, busyTeams, locked, holdNext, answer } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    for (const actor of actors) await spend(actor, HALF);
    locked.add("team_1");
    holdNext();
    await clock.advanceAsync(aheadEveryMs);
    const drained = quota.drain();
    await answer();
    await drained;
    await clock.advanceAsync(ledgerTimeoutMs);
    assert.equal(leases.size, 0);
    assert.equal(clock.pending, 0);
  });

  it("are no longer asked for by a process that goes", async () => {
    const { clock, quota, actors, statements, leases, spend, busyTeams } = setUp();
    await busyTeams();
    await clock.advanceAsync(CALM_MS);
    for (const actor of actors) await spend(actor, HALF);
    await quota.drain();
    await clock.advanceAsync(aheadEveryMs);
    assert.deepEqual(statements, []);
    assert.equal(leases.size, 0);
    assert.equal(clock.pending, 0);
  });
});
