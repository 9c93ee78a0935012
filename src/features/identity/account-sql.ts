import type { Tier } from "../../config/tiers.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";

/** SQL that writes teams, users, memberships and credentials. Each takes the transaction it belongs to. */

export interface NewTeam {
  id: string;
  name: string;
  tier: Tier;
  /** True for the team that runs the deployment. */
  operator?: boolean;
}

export interface NewKey {
  id: string;
  teamId: string;
  userId: string;
  label: string;
  env: "live" | "test";
  role: string;
  /** SHA-256 of the secret, 32 bytes. */
  hash: Buffer;
  /** The start of the secret, as lists show it. */
  prefix: string;
  last4: string;
}

export interface NewSession {
  id: string;
  userId: string;
  teamId: string;
  /** SHA-256 of the token, 32 bytes. */
  hash: Buffer;
  ttlMs: number;
}

export async function insertTeam(sql: Queryable, team: NewTeam): Promise<void> {
  const { id, name, tier, operator = false } = team;
  await sql`insert into teams (id, name, tier, operator) values (${id}, ${name}, ${tier}, ${operator})`;
}

/** The id of the user with this address, in any case. Creates the user with `id` and without a password when there is none. */
export async function upsertUser(sql: Queryable, id: string, email: string): Promise<string> {
  const [row] = await sql<[{ id: string }]>`
    insert into users (id, email) values (${id}, ${email})
    on conflict (lower(email collate "C")) do update set email = users.email
    returning id`;
  return row.id;
}

export async function insertMembership(
  sql: Queryable,
  membership: { teamId: string; userId: string; role: string },
): Promise<void> {
  await sql`
    insert into memberships (team_id, user_id, role)
    values (${membership.teamId}, ${membership.userId}, ${membership.role})`;
}

/** @returns when the key was created */
export async function insertApiKey(sql: Queryable, key: NewKey): Promise<Date> {
  const [row] = await sql<[{ created_at: Date }]>`
    insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4)
    values (${key.id}, ${key.teamId}, ${key.userId}, ${key.label}, ${key.env}, ${key.role}, ${key.hash},
      ${key.prefix}, ${key.last4})
    returning created_at`;
  return row.created_at;
}

/** @returns when the session expires */
export async function insertSession(sql: Queryable, session: NewSession): Promise<Date> {
  const [row] = await sql<[{ expiresAt: Date }]>`
    insert into sessions (id, user_id, team_id, hash, expires_at)
    values (${session.id}, ${session.userId}, ${session.teamId}, ${session.hash},
      clock_timestamp() + ${intervalOf(session.ttlMs)}::interval)
    returning expires_at as "expiresAt"`;
  return row.expiresAt;
}
