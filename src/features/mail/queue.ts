import * as v from "valibot";
import { newId } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import type { Transaction } from "../../stores/postgres/postgres.ts";
import { insertMail, type LeasedMail } from "./mail-outbox.ts";

const MailSchema = v.object({ to: v.string(), subject: v.string(), text: v.string() });

/** A plain-text mail. `subject` is one line. */
export type Mail = v.InferOutput<typeof MailSchema>;

/** The object that a mail is about: the mail is deleted with it. null: nothing that can be revoked. */
export type MailAbout = { inviteId: string } | { resetHash: Buffer } | null;

/** Mails to be sent, encrypted: they contain addresses and tokens. */
export interface MailQueue {
  /** Queues a mail in the transaction of the change it is about, to be sent within `ttlMs` or not at all. */
  enqueue(tx: Transaction, mail: Mail, about: MailAbout, ttlMs: number): Promise<void>;
  /** @throws SecretBoxError when it was queued under another SECRETS_KEY */
  read(queued: LeasedMail): Mail;
}

/** The context that a waiting mail is sealed for. */
export const mailSealContext = (id: string): string => `mail_outbox.sealed:${id}`;

export function createMailQueue(box: SecretBox): MailQueue {
  return {
    async enqueue(tx, mail, about, ttlMs) {
      const id = newId("mail");
      await insertMail(tx, {
        id,
        sealed: box.seal(JSON.stringify(mail), mailSealContext(id)),
        inviteId: about !== null && "inviteId" in about ? about.inviteId : null,
        resetHash: about !== null && "resetHash" in about ? about.resetHash : null,
        ttlMs,
      });
    },
    read: ({ id, sealed }) => v.parse(MailSchema, JSON.parse(box.open(sealed, mailSealContext(id)))),
  };
}
