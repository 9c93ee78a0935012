import type { Tier, TierLimits } from "../../config/tiers.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import { foldAddress } from "../../verification/address/address-case.ts";

/** SQL of the operator's commands: the only statements that are not limited to the caller's team. */

/** A team as the operator sees it. */
export interface OperatedTeam {
  id: string;
  name: string;
  tier: Tier;
  /** True for the team that runs the deployment and may read its state. */
  operator: boolean;
  /** The overrides as stored. */
  limits: unknown;
  subscriptionId: string | null;
  createdAt: Date;
  members: number;
  /** Not revoked. */
  keys: number;
  /** Addresses, the first ten. */
  owners: string[];
}

/** Ids of the teams that this address, in any case, owns; at most `limit`. */
export async function findTeamsOfOwner(sql: Queryable, email: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select m.team_id as id from memberships m join users u on u.id = m.user_id
    where lower(u.email collate "C") = ${foldAddress(email)} and m.role = 'owner' order by m.team_id limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Teams by id, those after `after`; only the one of `id` where that is not null. */
export async function listOperatedTeams(
  sql: Queryable,
  ask: { id: string | null; after: string; limit: number },
): Promise<OperatedTeam[]> {
  return sql<OperatedTeam[]>`
    select t.id, t.name, t.tier, t.operator, t.limits, t.stripe_subscription_id as "subscriptionId", t.created_at as "createdAt",
      (select count(*) from memberships m where m.team_id = t.id) as members,
      (select count(*) from api_keys k where k.team_id = t.id and k.revoked_at is null) as keys,
      (select coalesce(jsonb_agg(o.email), '[]') from (
        select u.email from memberships m join users u on u.id = m.user_id
        where m.team_id = t.id and m.role = 'owner' order by m.created_at, m.user_id limit 10) o) as owners
    from teams t
    where t.id > ${ask.after} and (${ask.id}::text is null or t.id = ${ask.id}::text)
    order by t.id limit ${ask.limit}`;
}

export async function setTeamTier(tx: Transaction, teamId: string, tier: Tier): Promise<void> {
  await tx`update teams set tier = ${tier} where id = ${teamId}`;
}

export async function setTeamOperator(tx: Transaction, teamId: string, operator: boolean): Promise<void> {
  await tx`update teams set operator = ${operator} where id = ${teamId}`;
}

/** @param value null: back to the tier's value */
export async function setTeamLimit(
  tx: Transaction,
  teamId: string,
  name: keyof TierLimits,
  value: number | boolean | null,
): Promise<void> {
  if (value === null) await tx`update teams set limits = limits - ${name}::text where id = ${teamId}`;
  else await tx`update teams set limits = limits || ${tx.json({ [name]: value })} where id = ${teamId}`;
}
