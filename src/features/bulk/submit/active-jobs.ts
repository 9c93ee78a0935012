import type { Queryable, TeamTransaction } from "../../../stores/postgres/postgres.ts";

/**
 * The team's unfinished jobs in that mode, those being submitted included; null when the team is gone. Blocks other
 * submissions until the transaction ends.
 */
export async function lockTeamAndCountActiveJobs(
  tx: TeamTransaction,
  owner: { teamId: string; livemode: boolean },
): Promise<number | null> {
  const team = await tx`select from teams where id = ${owner.teamId} for no key update`;
  return team.length === 0 ? null : countActiveJobs(tx, owner);
}

/** Jobs of the team and mode that have not ended. */
export async function countActiveJobs(
  sql: Queryable,
  { teamId, livemode }: { teamId: string; livemode: boolean },
): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from jobs
    where team_id = ${teamId} and livemode = ${livemode} and completed_at is null and removed_at is null`;
  return row.count;
}
