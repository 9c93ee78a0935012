import { LIMITS } from "../../../config/limits/limits.ts";
import type { Evidence, SmtpEvidence } from "../../../verification/evidence.ts";
import { isCatchAllDeferred, retryProspectOf } from "../../../verification/verdict/retry-prospect.ts";
import type { Reason } from "../../../verification/verdict/table.ts";
import type { Decision } from "../../../verification/verdict/verdict.ts";

/** Reasons for which a row may wait. `retryProspectOf` judges the server's reply. */
export const DEFERRAL_REASONS = [
  "greylisted",
  "rate_limited_by_server",
  "smtp_protocol_error",
  "refused_by_policy",
  "no_connect",
  "mailbox_full",
  "catch_all_unconfirmed",
  "sender_blocked",
  "our_network",
] as const satisfies readonly Reason[];
export type DeferralReason = (typeof DEFERRAL_REASONS)[number];

/** Why a row with an answer should be checked again later. */
export interface Deferrable {
  reason: DeferralReason;
  /** Seconds to wait, as the server or our breaker says; null: neither names a time. */
  retryAfterS: number | null;
  /** No server was asked: the breaker of the site is open, or our network is down. */
  parked: boolean;
  /** A bound of the whole wait that is shorter than the usual one. */
  patienceMs?: number;
}

/** Shorter bounds of some reasons. Greylisting and rate limits of a server may last as long as the setting allows. */
const PATIENCE_MS: Partial<Record<DeferralReason, number>> = {
  smtp_protocol_error: LIMITS.bulk.temporaryMs,
  refused_by_policy: LIMITS.bulk.temporaryMs,
  no_connect: LIMITS.bulk.temporaryMs,
  mailbox_full: LIMITS.bulk.seldomMs,
  catch_all_unconfirmed: LIMITS.bulk.seldomMs,
};

/**
 * Decides whether a later probe may bring another answer. It may after a temporary reply of the server, to the address or
 * to the catch-all probe behind it; while the site blocks us; and while our own network is down. Null for every other
 * answer, also for failures without a reply.
 *
 * The evidence decides, not the reason of the verdict: a refusal that makes no address invalid, because our sender identity
 * is not in order, has the reason `sender_blocked` too. A retry would bring the same for as long as that lasts, and burden
 * a source address that is in trouble already. Such a row is answered at once, uncharged.
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

/** A server that names a time gets the usual bound. */
function patienceOf(reason: DeferralReason, smtp: SmtpEvidence): number | undefined {
  if (smtp.retryAfterS !== null) return undefined;
  return retryProspectOf(smtp) === "soon" && reason === "mailbox_full"
    ? LIMITS.bulk.temporaryMs
    : PATIENCE_MS[reason];
}

/** The reason of the verdict of this evidence, if a later check may change it; else null. */
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
