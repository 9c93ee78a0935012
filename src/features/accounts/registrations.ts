import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import { foldAddress } from "../../verification/address/address-case.ts";

/** A registration whose address is not confirmed yet. */
export interface RegistrationRow {
  /** `req_…` */
  id: string;
  email: string;
  /** argon2id in its encoded form. */
  passwordHash: string;
  teamName: string;
}

const columns = (sql: Queryable) => sql`id, email, password_hash as "passwordHash", team_name as "teamName"`;

/** Stores one; false when LIMITS.portal.registrationsWaiting wait for the relay already. */
export async function insertRegistration(sql: Queryable, row: RegistrationRow): Promise<boolean> {
  const rows = await sql`
    insert into registrations (id, email, password_hash, team_name, expires_at)
    select ${row.id}::text, ${row.email}::text, ${row.passwordHash}::text, ${row.teamName}::text,
      now() + ${intervalOf(LIMITS.portal.registrationTtlMs)}::interval
    where (select count(*) from registrations where hash is null) < ${LIMITS.portal.registrationsWaiting}
    returning id`;
  return rows.length > 0;
}

/** Locks the oldest unmailed registration after the id `after`; null: none. */
export async function lockUnmailed(tx: Transaction, after: string): Promise<RegistrationRow | null> {
  const [row] = await tx<RegistrationRow[]>`
    select ${columns(tx)} from registrations
    where hash is null and id > ${after} and expires_at > now()
    order by id limit 1 for update skip locked`;
  return row ?? null;
}

export async function setRegistrationToken(tx: Transaction, id: string, hash: Buffer): Promise<void> {
  await tx`
    update registrations
    set hash = ${hash}, expires_at = now() + ${intervalOf(LIMITS.portal.registrationTtlMs)}::interval
    where id = ${id}`;
}

/** The open registration of a token. */
export async function findRegistration(sql: Queryable, hash: Buffer): Promise<RegistrationRow | null> {
  const [row] = await sql<RegistrationRow[]>`
    select ${columns(sql)} from registrations where hash = ${hash} and expires_at > now()`;
  return row ?? null;
}

/**
 * Uses up a registration, and all others of its address. True for one caller only: concurrent callers, each with a token of
 * its own, wait for the first, in the order of the ids. A caller that gets false rolls back.
 */
export async function takeRegistration(tx: Transaction, { id, email }: RegistrationRow): Promise<boolean> {
  const gone = await tx<{ id: string; isOpen: boolean }[]>`
    with taken as materialized (
      select ctid from registrations where lower(email collate "C") = ${foldAddress(email)} order by id for update
    )
    delete from registrations where ctid = any (array(select ctid from taken))
    returning id, expires_at > now() as "isOpen"`;
  return gone.some((row) => row.id === id && row.isOpen);
}

export async function deleteRegistration(tx: Transaction, id: string): Promise<void> {
  await tx`delete from registrations where id = ${id}`;
}

/** Deletes expired registrations, at most LIMITS.portal.prunedPerRound. */
export async function pruneRegistrations(sql: Database): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from registrations where expires_at < now()
      order by expires_at limit ${LIMITS.portal.prunedPerRound} for update skip locked
    )
    delete from registrations where ctid = any (array(select ctid from taken))`;
}
