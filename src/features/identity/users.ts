import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import { foldAddress } from "../../verification/address/address-case.ts";

/** Statements about users: their accounts and memberships. Addresses are compared in the form of `foldAddress`. */

export interface UserRow {
  id: string;
  email: string;
  /** argon2id in its encoded form; null: no password was set yet. */
  passwordHash: string | null;
}

export interface UserTeamRow {
  id: string;
  name: string;
  tier: Tier;
  /** The user's role there. */
  role: "member" | "admin" | "owner";
}

const userColumns = (sql: Queryable) => sql`id, email, password_hash as "passwordHash"`;
const teamColumns = (sql: Queryable) => sql`t.id, t.name, t.tier, m.role`;

export async function findUserByEmail(sql: Queryable, email: string): Promise<UserRow | null> {
  const [row] = await sql<UserRow[]>`
    select ${userColumns(sql)} from users where lower(email collate "C") = ${foldAddress(email)}`;
  return row ?? null;
}

export async function findUser(sql: Queryable, id: string): Promise<UserRow | null> {
  const [row] = await sql<UserRow[]>`select ${userColumns(sql)} from users where id = ${id}`;
  return row ?? null;
}

/**
 * The user of the address with the team to sign in to: the named one, else the team of the oldest membership. One
 * statement, so that an address without an account takes as long as one with.
 */
export async function findSignIn(
  sql: Queryable,
  email: string,
  teamId: string | null,
): Promise<{ user: UserRow; team: UserTeamRow | null } | null> {
  const [row] = await sql<(UserRow & { team: UserTeamRow | null })[]>`
    select ${userColumns(sql)}, (
      select jsonb_build_object('id', t.id, 'name', t.name, 'tier', t.tier, 'role', m.role)
      from memberships m join teams t on t.id = m.team_id
      where m.user_id = users.id and t.id = coalesce(${teamId}::text, t.id)
      order by m.created_at, t.id limit 1
    ) as team
    from users where lower(email collate "C") = ${foldAddress(email)}`;
  if (row === undefined) return null;
  const { team, ...user } = row;
  return { user, team };
}

/** A user's teams, first joined first, at most `limit`. */
export async function listTeamsOfUser(sql: Queryable, userId: string, limit: number): Promise<UserTeamRow[]> {
  return sql<UserTeamRow[]>`
    select ${teamColumns(sql)} from memberships m join teams t on t.id = m.team_id
    where m.user_id = ${userId} order by m.created_at, t.id limit ${limit}`;
}

/** Names of the teams of `listTeamsOfUser`, at most LIMITS.portal.teamsListed. */
export async function teamNames(sql: Queryable, userId: string): Promise<string[]> {
  const teams = await listTeamsOfUser(sql, userId, LIMITS.portal.teamsListed);
  return teams.map(({ name }) => name);
}

/** False when the address has an account already. */
export async function insertUser(tx: Transaction, user: UserRow): Promise<boolean> {
  const rows = await tx`
    insert into users (id, email, password_hash) values (${user.id}, ${user.email}, ${user.passwordHash})
    on conflict (lower(email collate "C")) do nothing returning id`;
  return rows.length > 0;
}

/**
 * Blocks changes of the user's password, and new sessions of the user, until the transaction ends. False when the password
 * is no longer that of `known`: its proof is then void.
 */
export async function lockUser(tx: Transaction, known: UserRow): Promise<boolean> {
  const rows = await tx`
    select from users
    where id = ${known.id} and password_hash is not distinct from ${known.passwordHash} for no key update`;
  return rows.length > 0;
}

/** Prevents the deletion of a membership, and of its team, until the transaction ends; false when it is gone. */
export async function shareLockMembership(tx: Transaction, teamId: string, userId: string): Promise<boolean> {
  const rows = await tx`
    select from teams t join memberships m on m.team_id = t.id
    where t.id = ${teamId} and m.user_id = ${userId} for key share of t, m`;
  return rows.length > 0;
}

export async function setPassword(tx: Transaction, userId: string, passwordHash: string): Promise<void> {
  await tx`update users set password_hash = ${passwordHash} where id = ${userId}`;
}
