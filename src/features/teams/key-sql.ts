import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** A key as lists show it: it contains nothing that authenticates. */
export interface KeyRow {
  id: string;
  label: string;
  env: "live" | "test";
  /** The role chosen at its creation. */
  role: string;
  /** Its user, and that user's current role in the team; null when the user has left. */
  userId: string | null;
  memberRole: string | null;
  prefix: string;
  last4: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

const selectKeys = (sql: Queryable) => sql`
  select k.id, k.label, k.env, k.role, m.user_id as "userId", m.role as "memberRole", k.prefix, k.last4,
         k.created_at as "createdAt", k.last_used_at as "lastUsedAt"
  from api_keys k left join memberships m on m.team_id = k.team_id and m.user_id = k.user_id`;

/** Unrevoked keys of the team, newest first, those before the id `before`. */
export async function listKeys(
  sql: Queryable,
  teamId: string,
  page: { before: string | null; limit: number },
): Promise<KeyRow[]> {
  return sql<KeyRow[]>`
    ${selectKeys(sql)}
    where k.team_id = ${teamId} and k.revoked_at is null
      and (${page.before}::text is null or k.id < ${page.before}::text)
    order by k.id desc limit ${page.limit}`;
}

/** null: the team has no such key, or it was revoked. */
export async function findKey(sql: Queryable, teamId: string, id: string): Promise<KeyRow | null> {
  const [row] = await sql<KeyRow[]>`
    ${selectKeys(sql)}
    where k.team_id = ${teamId} and k.id = ${id} and k.revoked_at is null`;
  return row ?? null;
}

/** Counts the team's unrevoked keys. */
export async function countKeys(sql: Queryable, teamId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from api_keys where team_id = ${teamId} and revoked_at is null`;
  return row.count;
}

/** True when the team had such a key and this call revoked it. */
export async function revokeKey(tx: Transaction, teamId: string, id: string): Promise<boolean> {
  const { count } = await tx`
    update api_keys set revoked_at = now()
    where id = ${id} and team_id = ${teamId} and revoked_at is null`;
  return count > 0;
}

/** Deletes the team's revoked keys except the latest `kept`: creating and revoking keys without end must not fill the table. */
export async function forgetRevokedKeys(tx: Transaction, teamId: string, kept: number): Promise<void> {
  await tx`
    with surplus as materialized (
      select ctid from api_keys where team_id = ${teamId} and revoked_at is not null
      order by revoked_at desc, id desc offset ${kept}
    )
    delete from api_keys where ctid = any (array(select ctid from surplus))`;
}
