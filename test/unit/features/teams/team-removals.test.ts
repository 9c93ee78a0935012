import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { TeamRemoval } from "../../../../src/features/teams/team-removal-sql.ts";
import { teamRemovalPeriodicTasks } from "../../../../src/features/teams/team-removals.ts";
import { silentLog } from "../../../support/store.ts";

/** Runs the task once over removals of the named teams; returns its actions, in order. */
async function run(
  teams: string[],
  deleteBelow: (prefix: string) => boolean,
  isStopping: () => boolean = () => false,
): Promise<string[]> {
  const did: string[] = [];
  const waiting: TeamRemoval[] = teams.map((teamId) => ({ teamId, sweepsDone: 0 }));
  const [task] = teamRemovalPeriodicTasks({
    removals: {
      claimDue: async () => waiting.shift() ?? null,
      recordSweep: async ({ teamId }, outcome) => void did.push(`${teamId} ${outcome}`),
    },
    deleteBelow: async (prefix) => {
      did.push(prefix);
      return deleteBelow(prefix);
    },
    log: silentLog,
  });
  await task?.run(isStopping);
  return did;
}

describe("the task of removals", () => {
  it("deletes page by page below the team's own prefix", async () => {
    let pages = 0;
    assert.deepEqual(await run(["team_a"], () => ++pages === 3), [
      "teams/team_a/",
      "teams/team_a/",
      "teams/team_a/",
      "team_a clean",
    ]);
  });

  it("gives the others their turn when a team has more than a turn's pages", async () => {
    const did = await run(["team_a", "team_b"], (prefix) => prefix === "teams/team_b/");
    assert.deepEqual(did.slice(LIMITS.removals.pagesPerTurn), [
      "team_a more",
      "teams/team_b/",
      "team_b clean",
    ]);
  });

  it("ends the round at a failure, which the next one would meet too", async () => {
    const fails = () => {
      throw new Error("storage is away");
    };
    assert.deepEqual(await run(["team_a", "team_b"], fails), ["teams/team_a/", "team_a failed"]);
  });

  it("hands back what it has when it is to stop, and takes no more", async () => {
    let asked = 0;
    const did = await run(
      ["team_a", "team_b"],
      () => false,
      () => ++asked > 3,
    );
    assert.deepEqual(did, ["teams/team_a/", "teams/team_a/", "team_a more"]);
  });
});
