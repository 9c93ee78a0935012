import type { Tier } from "../../config/tiers.ts";
import type { Queryable, TeamTransaction, Transaction } from "../../stores/postgres/postgres.ts";

export interface TeamRecord {
  id: string;
  name: string;
  tier: Tier;
  /** True for the team that runs the deployment. */
  operator: boolean;
  createdAt: Date;
}

/**
 * Blocks other changes to the team's members, or to its counted items, until the transaction ends; rows that only name the
 * team are still written. False when the team does not exist.
 */
export async function lockTeam(tx: TeamTransaction, teamId: string): Promise<boolean> {
  const rows = await tx`select from teams where id = ${teamId} for no key update`;
  return rows.length > 0;
}

export async function findTeam(sql: Queryable, teamId: string): Promise<TeamRecord | null> {
  const [row] = await sql<TeamRecord[]>`
    select id, name, tier, operator, created_at as "createdAt" from teams where id = ${teamId}`;
  return row ?? null;
}

/** The data of the team's limits, as stored; null: the team does not exist. */
export async function findTeamTerms(
  sql: Queryable,
  teamId: string,
): Promise<{ tier: Tier; limits: unknown } | null> {
  const [row] = await sql<
    { tier: Tier; limits: unknown }[]
  >`select tier, limits from teams where id = ${teamId}`;
  return row ?? null;
}

export async function renameTeam(tx: Transaction, teamId: string, name: string): Promise<void> {
  await tx`update teams set name = ${name} where id = ${teamId}`;
}

/**
 * Deletes a team's unbounded history, at most `limit` rows a table. Returns the largest number of rows deleted from one
 * table. Rows in use are left. It deletes tasks only of jobs that have ended or are hidden, which need them no more.
 */
export async function deleteHistory(tx: Transaction, teamId: string, limit: number): Promise<number> {
  const deleted = [
    await tx`
      with taken as materialized (
        select ctid from webhook_deliveries where team_id = ${teamId} limit ${limit} for update skip locked
      )
      delete from webhook_deliveries where ctid = any (array(select ctid from taken))`,
    await tx`
      with taken as materialized (
        select ctid from events e
        where team_id = ${teamId} and not exists (select from webhook_deliveries d where d.event_id = e.id)
        limit ${limit} for update skip locked
      )
      delete from events where ctid = any (array(select ctid from taken))`,
    await tx`
      with taken as materialized (
        select t.ctid from jobs j join job_tasks t on t.job_id = j.id
        where j.team_id = ${teamId} and (j.completed_at is not null or j.removed_at is not null)
        limit ${limit} for update of t skip locked
      )
      delete from job_tasks where ctid = any (array(select ctid from taken))`,
    await tx`
      with taken as materialized (
        select ctid from idempotency_keys where team_id = ${teamId}
        limit ${limit} for update skip locked
      )
      delete from idempotency_keys where ctid = any (array(select ctid from taken))`,
    await tx`
      with taken as materialized (
        select ctid from feedback where team_id = ${teamId}
        limit ${limit} for update skip locked
      )
      delete from feedback where ctid = any (array(select ctid from taken))`,
  ];
  return Math.max(...deleted.map(({ count }) => count));
}

/**
 * Deletes the team, and by its foreign keys all it has, in at most `timeoutMs` a statement. Other writers of several rows
 * of a team must take a share of the team's lock first, or they deadlock with this.
 */
export async function deleteTeam(tx: Transaction, teamId: string, timeoutMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(timeoutMs)}, true)`;
  await tx`delete from teams where id = ${teamId}`;
}
