import { LIMITS } from "../../../config/limits/limits.ts";
import type { Evidence, SmtpEvidence } from "../../../verification/evidence.ts";
import { isCatchAllDeferred, retryProspectOf } from "../../../verification/verdict/retry-prospect.ts";
import type { Reason } from "../../../verification/verdict/table.ts";
import type { Decision } from "../../../verification/verdict/verdict.ts";

/** Reasons that let a row wait. What a reason says of a server is `retryProspectOf`'s. */
export type DeferralReason = Extract<
  Reason,
  | "greylisted"
  | "rate_limited_by_server"
  | "smtp_protocol_error"
  | "refused_by_policy"
  | "no_connect"
  | "mailbox_full"
  | "catch_all_unconfirmed"
  | "sender_blocked"
  | "our_network"
>;

/** Why a row should be asked about again later, although it has an answer. */
export interface Deferrable {
  reason: DeferralReason;
  /** Seconds to wait, as the server asked us or our breaker says; null when nobody named any. */
  retryAfterS: number | null;
  /** Nobody asked: the site's breaker is open, or nothing leaves from here. */
  parked: boolean;
  /** A bound of the whole wait that is shorter than the usual one. */
  patienceMs?: number;
}

/** Greylisting, and a limit of the server, may last as long as the setting allows; other troubles are worth less of it. */
const PATIENCE_MS: Partial<Record<DeferralReason, number>> = {
  smtp_protocol_error: LIMITS.bulk.temporaryMs,
  refused_by_policy: LIMITS.bulk.temporaryMs,
  no_connect: LIMITS.bulk.temporaryMs,
  mailbox_full: LIMITS.bulk.seldomMs,
  catch_all_unconfirmed: LIMITS.bulk.seldomMs,
};

/**
 * Whether asking again later may bring another answer: the server answered with a temporary reply, to the address or to the
 * catch-all probe behind it; it blocks us; or our own network is down. Null for every other answer, also for failures
 * without a reply.
 *
 * It goes by what happened, not by what it is called: a refusal that condemns no mailbox, since our own identity is not in
 * order, is drawn `sender_blocked` too. Asking again would bring the same for as long as that lasts, by an address that is in
 * trouble already: such a row is answered at once, for nothing.
 */
export function deferrable(decision: Pick<Decision, "reason">, evidence: Evidence | null): Deferrable | null {
  const smtp = evidence?.smtp ?? null;
  const reason = smtp === null ? null : deferralReason(smtp);
  if (smtp === null || reason === null || decision.reason !== reason) return null;
  const { retryAfterS, rule } = smtp;
  const parked = rule === "breaker_open" || reason === "our_network";
  const patienceMs = rule === "nothing_reached_yet" ? LIMITS.bulk.unreachedMs : patienceOf(reason, smtp);
  return { reason, retryAfterS, parked, ...(patienceMs === undefined ? {} : { patienceMs }) };
}

/** A server that names a time is believed: it gets the usual bound. */
function patienceOf(reason: DeferralReason, smtp: SmtpEvidence): number | undefined {
  if (smtp.retryAfterS !== null) return undefined;
  return retryProspectOf(smtp) === "soon" && reason === "mailbox_full"
    ? LIMITS.bulk.temporaryMs
    : PATIENCE_MS[reason];
}

/** The reason that a verdict has which rests on this, where it may change by itself; null: it may not. */
function deferralReason(smtp: SmtpEvidence): DeferralReason | null {
  const { class: end } = smtp;
  if (end === "sender_blocked" || end === "our_network") return end;
  if (isCatchAllDeferred(smtp)) return "catch_all_unconfirmed";
  return retryProspectOf(smtp) === null ? null : (end as DeferralReason);
}

/** True of cached evidence that may have changed by itself: a retry asks again instead of reading it. */
export function wasDeferred({ smtp }: Evidence): boolean {
  return smtp !== null && deferralReason(smtp) !== null;
}
