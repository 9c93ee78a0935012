import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createTeamGuard } from "../../../../src/platform/periodic/team-guard.ts";
import { silentLog } from "../../../support/store.ts";

describe("work over many teams", () => {
  it("goes on after a team that fails, and gives up when it is not the team", async () => {
    const guard = createTeamGuard(silentLog, "work failed");
    const fails = () => Promise.reject(new Error("Postgres is away"));
    let done = 0;
    for (let team = 1; team < LIMITS.relay.teamFailures; team++) {
      await guard.run(`team_${team}`, fails);
      await guard.run(`team_${team}b`, async () => {
        done += 1;
      });
    }
    assert.equal(done, LIMITS.relay.teamFailures - 1);
    await assert.rejects(guard.run("team_last", fails), /Postgres is away/);
    assert.equal(guard.failures, LIMITS.relay.teamFailures);
  });
});
