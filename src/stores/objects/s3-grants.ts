import type { Queryable, Transaction } from "../postgres/postgres.ts";

/** A source of bulk lists that a team may read: every key of the bucket that starts with the prefix. */
export interface S3Grant {
  bucket: string;
  /** "" is the whole bucket; else it ends with a slash. */
  prefix: string;
}

export async function listGrants(sql: Queryable, teamId: string): Promise<S3Grant[]> {
  return sql<S3Grant[]>`
    select bucket, prefix from s3_grants where team_id = ${teamId} order by bucket, prefix`;
}

/** Call under the team's lock. False when the team has `max` already; true when it has the grant, new or old. */
export async function insertGrant(
  tx: Transaction,
  teamId: string,
  { bucket, prefix }: S3Grant,
  max: number,
): Promise<boolean> {
  const grants = await listGrants(tx, teamId);
  if (grants.some((known) => known.bucket === bucket && known.prefix === prefix)) return true;
  if (grants.length >= max) return false;
  await tx`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, ${bucket}, ${prefix})`;
  return true;
}

/** False when there was no such grant. */
export async function deleteGrant(
  sql: Queryable,
  teamId: string,
  { bucket, prefix }: S3Grant,
): Promise<boolean> {
  const { count } = await sql`
    delete from s3_grants where team_id = ${teamId} and bucket = ${bucket} and prefix = ${prefix}`;
  return count > 0;
}
