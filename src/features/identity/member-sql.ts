import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

export interface MemberRow {
  userId: string;
  email: string;
  role: "member" | "admin" | "owner";
  joinedAt: Date;
}

/** Members by the time they joined, at most `limit`. */
export async function listMembers(sql: Queryable, teamId: string, limit: number): Promise<MemberRow[]> {
  return sql<MemberRow[]>`
    select m.user_id as "userId", u.email, m.role, m.created_at as "joinedAt"
    from memberships m join users u on u.id = m.user_id
    where m.team_id = ${teamId} order by m.created_at, m.user_id limit ${limit}`;
}

/** null: no such member of the team. */
export async function findMember(sql: Queryable, teamId: string, userId: string): Promise<MemberRow | null> {
  const [row] = await sql<MemberRow[]>`
    select m.user_id as "userId", u.email, m.role, m.created_at as "joinedAt"
    from memberships m join users u on u.id = m.user_id
    where m.team_id = ${teamId} and m.user_id = ${userId}`;
  return row ?? null;
}

export async function countOwners(sql: Queryable, teamId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from memberships where team_id = ${teamId} and role = 'owner'`;
  return row.count;
}

export async function setMemberRole(
  tx: Transaction,
  member: { teamId: string; userId: string; role: MemberRow["role"] },
): Promise<void> {
  await tx`
    update memberships set role = ${member.role}
    where team_id = ${member.teamId} and user_id = ${member.userId}`;
}

/** Ends a membership: the user's keys of this team lose their user, and the user's sessions of this team end. */
export async function deleteMember(tx: Transaction, teamId: string, userId: string): Promise<void> {
  await tx`delete from memberships where team_id = ${teamId} and user_id = ${userId}`;
  await tx`update api_keys set user_id = null where team_id = ${teamId} and user_id = ${userId}`;
  await tx`delete from sessions where team_id = ${teamId} and user_id = ${userId}`;
}

export async function countMembers(sql: Queryable, teamId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from memberships where team_id = ${teamId}`;
  return row.count;
}
