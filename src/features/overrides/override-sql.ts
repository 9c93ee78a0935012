import { LIMITS } from "../../config/limits/limits.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** A domain that a team marks as disposable. */
export interface OverrideRow {
  /** `ovr_…` */
  id: string;
  /** A-labels, lower case. */
  domain: string;
  status: "pending" | "merged";
  createdAt: Date;
  /** null while pending. */
  mergedAt: Date | null;
}

const columns = (sql: Queryable) =>
  sql`id, domain, status, created_at as "createdAt", merged_at as "mergedAt"`;

/** Stores new submissions of the team as pending; returns those that were new. The caller holds the team's lock. */
export async function insertOverrides(
  tx: Transaction,
  submission: { teamId: string; userId: string | null; overrides: readonly { id: string; domain: string }[] },
): Promise<OverrideRow[]> {
  const { teamId, userId, overrides } = submission;
  return tx<OverrideRow[]>`
    insert into disposable_overrides (id, team_id, domain, submitted_by)
    select id, ${teamId}, domain, ${userId}
    from jsonb_to_recordset(${tx.json(overrides)}) as submitted (id text, domain text)
    on conflict (team_id, domain) do nothing
    returning ${columns(tx)}`;
}

export async function countOverrides(sql: Queryable, teamId: string): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from disposable_overrides where team_id = ${teamId}`;
  return count;
}

export async function countPendingOverrides(sql: Queryable, teamId: string): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from disposable_overrides where team_id = ${teamId} and status = 'pending'`;
  return count;
}

/** The domains among `domains` that the team has submitted, in any order. */
export function readOverrides(
  sql: Queryable,
  teamId: string,
  domains: readonly string[],
): Promise<OverrideRow[]> {
  return sql<OverrideRow[]>`
    select ${columns(sql)} from disposable_overrides
    where team_id = ${teamId} and domain in (select jsonb_array_elements_text(${sql.json(domains)}))`;
}

/** Newest first, those older than `after`, at most `limit`. */
export function listOverrides(
  sql: Queryable,
  teamId: string,
  page: { after: string | null; limit: number },
): Promise<OverrideRow[]> {
  const older = page.after === null ? sql`` : sql`and id < ${page.after}`;
  return sql<OverrideRow[]>`
    select ${columns(sql)} from disposable_overrides
    where team_id = ${teamId} ${older} order by id desc limit ${page.limit}`;
}

/** True when there was such an override. */
export async function deleteOverride(tx: Transaction, teamId: string, domain: string): Promise<boolean> {
  const gone = await tx`delete from disposable_overrides where team_id = ${teamId} and domain = ${domain}`;
  return gone.count > 0;
}

/** Teams with pending overrides, at most LIMITS.overrides.mergeTeamsPerRound, by id after `after`. */
export async function teamsToMerge(sql: Queryable, after: string): Promise<string[]> {
  const rows = await sql<{ teamId: string }[]>`
    select distinct team_id as "teamId" from disposable_overrides
    where status = 'pending' and team_id > ${after}
    order by team_id limit ${LIMITS.overrides.mergeTeamsPerRound}`;
  return rows.map(({ teamId }) => teamId);
}

/**
 * Merges the team's pending overrides, oldest first, at most LIMITS.overrides.mergeBatch; returns the domains in that
 * order. Empty while another transaction holds the team's lock: a submission or a merge is running.
 */
export async function mergeOverrides(tx: Transaction, teamId: string): Promise<string[]> {
  const [free] = await tx`select from teams where id = ${teamId} for no key update skip locked`;
  if (free === undefined) return [];
  const rows = await tx<{ id: string; domain: string }[]>`
    with taken as materialized (
      select ctid from disposable_overrides where team_id = ${teamId} and status = 'pending'
      order by id limit ${LIMITS.overrides.mergeBatch} for update
    )
    update disposable_overrides set status = 'merged', merged_at = now()
    where ctid = any (array(select ctid from taken)) and status = 'pending'
    returning id, domain`;
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ domain }) => domain);
}
