import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** A waiting mail, as stored. */
export interface NewMail {
  /** `mail_…` */
  id: string;
  /** Recipient, subject and text, encrypted. */
  sealed: Buffer;
  /** The invitation or reset it is about: the mail is deleted with it. */
  inviteId: string | null;
  resetHash: Buffer | null;
  ttlMs: number;
}

/** A mail leased for sending. */
export interface LeasedMail {
  id: string;
  sealed: Buffer;
  /** This attempt included. */
  attempts: number;
}

/**
 * The queue of outgoing mails. A lease moves the mail's `next_attempt_at` on, so that the mails of a killed relay become
 * due again by themselves. `attempts` identifies the lease, so that a relay whose lease has ended changes nothing.
 */
export interface MailOutbox {
  /** Leases due mails, at most `limit`, for LIMITS.mail.leaseMs: password reset links before invitations. */
  leaseDue(limit: number): Promise<LeasedMail[]>;
  /** Removes a mail that was sent or given up. */
  remove(mail: LeasedMail): Promise<void>;
  postpone(mail: LeasedMail, delayMs: number): Promise<void>;
  /** Deletes expired mails, at most LIMITS.portal.prunedPerRound. */
  prune(): Promise<void>;
}

/** Writes a mail in the transaction of the change it is about. */
export async function insertMail(tx: Transaction, mail: NewMail): Promise<void> {
  await tx`
    insert into mail_outbox (id, sealed, invite_id, reset_hash, expires_at)
    values (${mail.id}, ${mail.sealed}, ${mail.inviteId}, ${mail.resetHash},
      now() + ${intervalOf(mail.ttlMs)}::interval)`;
}

export function createMailOutbox(sql: Database): MailOutbox {
  return {
    async leaseDue(limit) {
      return sql<LeasedMail[]>`
        with taken as materialized (
          select ctid from mail_outbox where next_attempt_at <= now() and expires_at > now()
          order by reset_hash is null, next_attempt_at limit ${limit} for update skip locked
        )
        update mail_outbox
        set attempts = attempts + 1, next_attempt_at = now() + ${intervalOf(LIMITS.mail.leaseMs)}::interval
        where ctid = any (array(select ctid from taken))
        returning id, sealed, attempts`;
    },

    async remove(mail) {
      await sql`delete from mail_outbox where id = ${mail.id} and attempts = ${mail.attempts}`;
    },

    async postpone(mail, delayMs) {
      await sql`
        update mail_outbox set next_attempt_at = now() + ${intervalOf(delayMs)}::interval
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
