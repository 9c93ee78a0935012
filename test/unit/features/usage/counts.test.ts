import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createUsageCounter } from "../../../../src/features/usage/counts.ts";
import type { UsageFlush, UsageRow } from "../../../../src/features/usage/usage-sql.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/store.ts";

const DAY = "2026-01-01";

/** A counter on a database that knows each flush by its number, and that fails when `weather` says so. */
function setUp(weather: (attempt: number) => "fine" | "fails" | "answer lost" = () => "fine") {
  const clock = createFakeClock();
  const written: UsageRow[] = [];
  const seen = new Map<string, number>();
  /** Teams that are being deleted. */
  const deleting = new Set<string>();
  let attempts = 0;
  const store = {
    async record({ writer, revision, rows }: UsageFlush) {
      attempts += 1;
      const outcome = weather(attempts);
      if (outcome === "fails") throw new Error("Postgres is away");
      if (revision > (seen.get(writer) ?? 0)) {
        seen.set(writer, revision);
        written.push(...rows.filter(({ teamId }) => !deleting.has(teamId)));
      }
      if (outcome === "answer lost") throw new Error("Postgres went away");
      return [...deleting];
    },
  };
  const counter = createUsageCounter({ store, clock, log: silentLog });
  const total = (name: keyof Omit<UsageRow, "teamId" | "day">) =>
    written.reduce((sum, row) => sum + row[name], 0);
  return { clock, counter, written, deleting, total, attempts: () => attempts };
}

describe("the counter of answers", () => {
  it("adds up by team and day, and writes nothing before its interval", async () => {
    const { clock, counter, written } = setUp();
    counter.start();
    counter.count("team_a", DAY, "valid", true);
    counter.count("team_a", DAY, "valid", false);
    counter.count("team_a", "2026-01-02", "unknown", false);
    counter.count("team_b", DAY, "risky", false);
    await clock.advanceAsync(LIMITS.usage.flushEveryMs - 1);
    assert.deepEqual(written, []);
    await clock.advanceAsync(1);
    const none = { bulk: 0, cached: 0, valid: 0, invalid: 0, risky: 0, unknown: 0 };
    assert.deepEqual(written, [
      { teamId: "team_a", day: DAY, ...none, single: 2, cached: 1, valid: 2 },
      { teamId: "team_b", day: DAY, ...none, single: 1, risky: 1 },
      { teamId: "team_a", day: "2026-01-02", ...none, single: 1, unknown: 1 },
    ]);
    await counter.drain();
    assert.equal(written.length, 3);
    assert.equal(clock.pending, 0);
  });

  it("keeps what a flush left out, of a team whose deletion may fail yet, for the next", async () => {
    const { counter, written, deleting, total, attempts } = setUp();
    deleting.add("team_a");
    for (const team of ["team_a", "team_b"]) counter.count(team, DAY, "valid", true);
    await counter.flush();
    assert.deepEqual(
      written.map(({ teamId }) => teamId),
      ["team_b"],
    );
    counter.count("team_a", DAY, "risky", false);
    await counter.flush();
    deleting.clear();
    await counter.flush();
    assert.deepEqual([total("single"), total("cached"), total("valid"), total("risky")], [3, 2, 2, 1]);
    const before = attempts();
    await counter.flush();
    assert.equal(attempts(), before, "nothing is left");
  });

  it("sends nothing while there is nothing to send", async () => {
    const { clock, counter, attempts } = setUp();
    counter.start();
    await clock.advanceAsync(10 * LIMITS.usage.flushEveryMs);
    assert.equal(attempts(), 0);
  });

  for (const trouble of ["fails", "answer lost"] as const) {
    it(`counts each answer once when a flush ${trouble}, whatever is counted meanwhile`, async () => {
      const { clock, counter, total } = setUp((attempt) => (attempt <= 3 ? trouble : "fine"));
      counter.start();
      for (let second = 0; second < 8; second++) {
        counter.count("team_a", DAY, "invalid", false);
        await clock.advanceAsync(LIMITS.usage.flushEveryMs);
      }
      assert.deepEqual([total("single"), total("invalid")], [8, 8]);
    });
  }

  it("has written all that was counted before the call, also when a flush is in progress", async () => {
    const { counter, total } = setUp();
    counter.count("team_a", DAY, "valid", false);
    const first = counter.flush();
    counter.count("team_a", DAY, "valid", false);
    await Promise.all([counter.flush(), counter.flush()]);
    assert.equal(total("single"), 2);
    await first;
  });

  it("says so when it could not write", async () => {
    const { counter, total } = setUp((attempt) => (attempt === 1 ? "fails" : "fine"));
    counter.count("team_a", DAY, "valid", false);
    await assert.rejects(counter.flush(), /away/);
    await counter.flush();
    assert.equal(total("single"), 1);
  });

  it("writes many teams in pieces", async () => {
    const { counter, total, attempts } = setUp();
    const teams = LIMITS.usage.rowsPerFlush + 1;
    for (let i = 0; i < teams; i++) counter.count(`team_${i}`, DAY, "valid", false);
    await counter.flush();
    assert.deepEqual([total("single"), attempts()], [teams, 2]);
  });

  it("keeps no more than its bound while nothing can be written", async () => {
    const { counter, total } = setUp();
    for (let i = 0; i < LIMITS.usage.teamDays + 10; i++) counter.count(`team_${i}`, DAY, "valid", false);
    counter.count("team_0", DAY, "valid", false);
    await counter.flush();
    assert.equal(total("single"), LIMITS.usage.teamDays + 1);
  });

  it("tries several times before it goes, and goes all the same", async () => {
    const passing = setUp((attempt) => (attempt < LIMITS.usage.drainAttempts ? "fails" : "fine"));
    passing.counter.count("team_a", DAY, "valid", false);
    const drained = passing.counter.drain();
    await passing.clock.advanceAsync(LIMITS.usage.drainAttempts * LIMITS.usage.drainPauseMs);
    await drained;
    assert.equal(passing.total("single"), 1);

    const lasting = setUp(() => "fails");
    lasting.counter.count("team_a", DAY, "valid", false);
    const gone = lasting.counter.drain();
    await lasting.clock.advanceAsync(LIMITS.usage.drainAttempts * LIMITS.usage.drainPauseMs);
    await gone;
    assert.equal(lasting.attempts(), LIMITS.usage.drainAttempts);
  });
});
