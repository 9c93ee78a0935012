import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { createTeamGuard } from "../../platform/periodic/team-guard.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { recordEvent } from "../webhooks/outbox.ts";
import { mergeOverrides, teamsToMerge } from "./override-sql.ts";

/**
 * Merges pending overrides of all teams. Each batch of a team is one transaction with its event; any number of processes
 * may run it at once. Ends when no override is left, after LIMITS.overrides.mergeRounds rounds, or when `isStopping`. A
 * team that fails waits for the next interval and blocks no other. After LIMITS.relay.teamFailures failures it rejects.
 */
export type MergeOverrides = (isStopping: () => boolean) => Promise<void>;

export function createMergeOverrides(deps: {
  sql: Database;
  publisher: ChangePublisher;
  log: Logger;
}): MergeOverrides {
  const { sql, publisher, log } = deps;

  function mergeTeam(teamId: string): Promise<void> {
    return publisher.transact(async (tx) => {
      const domains = await mergeOverrides(tx, teamId);
      if (domains.length === 0) return;
      const data = { count: domains.length, domains: domains.slice(0, LIMITS.overrides.eventDomains) };
      await recordEvent(tx, { teamId, type: "disposable.merged", livemode: true, data });
    });
  }

  return async (isStopping) => {
    const guard = createTeamGuard(log, "cannot merge the overrides of a team");
    let after = "";
    for (let round = 0; round < LIMITS.overrides.mergeRounds; round++) {
      const teams = await teamsToMerge(sql, after);
      for (const teamId of teams) {
        if (isStopping()) return;
        await guard.run(teamId, () => mergeTeam(teamId));
      }
      const last = teams.at(-1);
      // Past the last team: overrides that came meanwhile, or were locked, wait for the next interval.
      if (last === undefined) return;
      after = last;
    }
  };
}
