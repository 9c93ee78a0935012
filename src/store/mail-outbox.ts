import { LIMITS } from "../core/limits.ts";
import type { Database, Transaction } from "./postgres.ts";

/** A mail that waits, as stored. */
export interface NewMail {
  /** `mail_…` */
  id: string;
  /** Recipient, subject and text, encrypted. */
  sealed: Buffer;
  /** What it tells of: it goes when that does. */
  inviteId: string | null;
  resetHash: Buffer | null;
  ttlMs: number;
}

/** A mail that was taken to be sent. */
export interface LeasedMail {
  id: string;
  sealed: Buffer;
  /** This attempt included. */
  attempts: number;
}

/**
 * The queue of outgoing mails. Who takes one moves its `next_attempt_at` on by a lease, so that what a killed relay held
 * falls due again by itself; `attempts` names the lease, so that whoever comes back after its end changes nothing.
 */
export interface MailOutbox {
  /** Takes what is due, `limit` at most, for LIMITS.mail.leaseMs: links for a new password before invitations. */
  take(limit: number): Promise<LeasedMail[]>;
  /** Sent, or given up. */
  remove(mail: LeasedMail): Promise<void>;
  postpone(mail: LeasedMail, delayMs: number): Promise<void>;
  /** Deletes LIMITS.portal.prunedPerRound mails at most whose time has passed. */
  prune(): Promise<void>;
}

const interval = (ms: number) => `${ms} milliseconds`;

/** Writes a mail in the transaction of what it tells of. */
export async function insertMail(tx: Transaction, mail: NewMail): Promise<void> {
  await tx`
    insert into mail_outbox (id, sealed, invite_id, reset_hash, expires_at)
    values (${mail.id}, ${mail.sealed}, ${mail.inviteId}, ${mail.resetHash},
      now() + ${interval(mail.ttlMs)}::interval)`;
}

export function createMailOutbox(sql: Database): MailOutbox {
  return {
    async take(limit) {
      return sql<LeasedMail[]>`
        with taken as materialized (
          select ctid from mail_outbox where next_attempt_at <= now() and expires_at > now()
          order by reset_hash is null, next_attempt_at limit ${limit} for update skip locked
        )
        update mail_outbox
        set attempts = attempts + 1, next_attempt_at = now() + ${interval(LIMITS.mail.leaseMs)}::interval
        where ctid = any (array(select ctid from taken))
        returning id, sealed, attempts`;
    },

    async remove(mail) {
      await sql`delete from mail_outbox where id = ${mail.id} and attempts = ${mail.attempts}`;
    },

    async postpone(mail, delayMs) {
      await sql`
        update mail_outbox set next_attempt_at = now() + ${interval(delayMs)}::interval
        where id = ${mail.id} and attempts = ${mail.attempts}`;
    },

    async prune() {
      await sql`
        with taken as materialized (
          select ctid from mail_outbox where expires_at < now()
          order by expires_at limit ${LIMITS.portal.prunedPerRound} for update skip locked
        )
        delete from mail_outbox where ctid = any (array(select ctid from taken))`;
    },
  };
}
