import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { LeasedMail, MailOutbox } from "./mail-outbox.ts";
import type { Mail, MailQueue } from "./queue.ts";

/** The outcome of an attempt; `code` gives the reason in the words of the mail client, without an address. */
export type MailOutcome = { sent: true } | { sent: false; permanent: boolean; code: string };

/** Sends a mail through the configured mail server, within LIMITS.mail.attemptMs. Never rejects. */
export type SendMail = (id: string, mail: Mail) => Promise<MailOutcome>;

/** Delivers due mails until there are no more, or `isStopping`. Any number of relays may run it at once. */
export type DeliverMail = (isStopping: () => boolean) => Promise<void>;

export interface DeliverMailDeps {
  outbox: MailOutbox;
  queue: MailQueue;
  send: SendMail;
  /** 0 to 1: spreads retries. */
  random(): number;
  log: Logger;
}

/** Delay after the `attempts`th failure: 10 s, doubled each time up to an hour, ±25 %. */
export function mailRetryDelayMs(attempts: number, random: number): number {
  const { retryFirstMs, retryMaxMs } = LIMITS.mail;
  const delayMs = Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(attempts - 1, 20));
  return Math.round(delayMs * (0.75 + random / 2));
}

export function createDeliverMail(deps: DeliverMailDeps): DeliverMail {
  const { outbox, queue, send, log } = deps;

  /** null: it was sealed with another key, or is damaged; it will never be readable. */
  function read(leased: LeasedMail): Mail | null {
    try {
      return queue.read(leased);
    } catch (error) {
      log.error({ err: error, mail: leased.id }, "dropping an unreadable mail");
      return null;
    }
  }

  async function deliver(leased: LeasedMail): Promise<void> {
    const mail = read(leased);
    if (mail === null) return outbox.remove(leased);
    const outcome = await send(leased.id, mail);
    if (outcome.sent) return outbox.remove(leased);
    const { code, permanent } = outcome;
    log.warn(
      { mail: leased.id, attempts: leased.attempts, code },
      permanent ? "dropping a permanently refused mail" : "cannot send a mail: retrying later",
    );
    if (permanent) return outbox.remove(leased);
    return outbox.postpone(leased, mailRetryDelayMs(leased.attempts, deps.random()));
  }

  /** One mail at a time, so that a slow server holds only one of the parallel workers. */
  async function work(isStopping: () => boolean): Promise<void> {
    while (!isStopping()) {
      const [leased] = await outbox.leaseDue(1);
      if (leased === undefined) return;
      await deliver(leased);
    }
  }

  return async (isStopping) => {
    const places = Array.from({ length: LIMITS.mail.inFlight }, () => work(isStopping));
    // All workers end before the next run starts, also when one fails.
    await Promise.allSettled(places);
    await Promise.all(places);
  };
}
