import type { Queryable, TeamTransaction } from "../../../stores/postgres/postgres.ts";

/** A team's jobs in one mode. */
export interface TeamJobs {
  /** That have not ended, those being submitted included. */
  active: number;
  /** That are not deleted: also removed ones, until their objects are gone. */
  kept: number;
}

/** null when the team is gone. Blocks other submissions until the transaction ends. */
export async function lockTeamAndCountJobs(
  tx: TeamTransaction,
  owner: { teamId: string; livemode: boolean },
): Promise<TeamJobs | null> {
  const team = await tx`select from teams where id = ${owner.teamId} for no key update`;
  return team.length === 0 ? null : countJobs(tx, owner);
}

export async function countJobs(
  sql: Queryable,
  { teamId, livemode }: { teamId: string; livemode: boolean },
): Promise<TeamJobs> {
  const [row] = await sql<[TeamJobs]>`
    select count(*)::int as active,
      coalesce((select kept from job_counts where team_id = ${teamId} and livemode = ${livemode}), 0) as kept
    from jobs
    where team_id = ${teamId} and livemode = ${livemode} and completed_at is null and removed_at is null`;
  return row;
}
