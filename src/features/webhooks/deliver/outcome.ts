import { LIMITS } from "../../../config/limits/limits.ts";
import type { AttemptRecord } from "../webhook-queue.ts";

/** Why no answer came, as the operator sees it. */
export const ATTEMPT_ERRORS = [
  "invalid_url",
  "host_not_found",
  "dns_failure",
  "address_not_allowed",
  "connection_refused",
  "connect_timeout",
  "connection_failed",
  "tls_failure",
  "timeout",
  "connection_closed",
  "invalid_response",
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** Every recorded `error` of a delivery. */
export const DELIVERY_ERRORS = [
  ...ATTEMPT_ERRORS,
  /** An answer that is not a success. */
  "refused",
  "redirected",
  "gone",
  /**
   * Not sent: the webhook was disabled, the tier has no webhooks any more, the backlog was full, or the secret could not be
   * opened.
   */
  "webhook_disabled",
  "unavailable_in_tier",
  "backlog_full",
  "secret_unreadable",
  /** Our fault. */
  "internal_error",
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/** These errors would reveal whether a service listens at an address that only we can reach. */
type HiddenError = "connection_refused" | "connect_timeout";
export type ShownError = Exclude<DeliveryError, HiddenError>;

const isHidden = (error: DeliveryError): error is HiddenError =>
  error === "connection_refused" || error === "connect_timeout";

/** Every `error` of a delivery that its team sees. They are names only, so they cannot contain an address of ours. */
export const SHOWN_ERRORS: readonly ShownError[] = DELIVERY_ERRORS.filter(
  (error): error is ShownError => !isHidden(error),
);

/** @param name as recorded; null, or unknown to this version: null */
export function shownError(name: string | null): ShownError | null {
  const error = DELIVERY_ERRORS.find((known) => known === name);
  if (error === undefined) return null;
  return isHidden(error) ? "connection_failed" : error;
}

/** The outcome of an attempt. `body`: the beginning of the answer, from `readResponseText`. */
export type DeliveryAttempt =
  | { answered: true; status: number; retryAfter: string | null; body: string; durationMs: number }
  | { answered: false; error: AttemptError | "secret_unreadable" | "internal_error"; durationMs: number };

/** From the end of an attempt to the next one: the schedule that API.md promises. */
const RETRY_DELAYS_MS = [5, 60, 300, 1_800, 7_200, 21_600, 43_200].map((seconds) => seconds * 1_000);

/** The first, and one after each delay. */
export const ATTEMPTS_MAX = RETRY_DELAYS_MS.length + 1;

/** Delays vary by this share up or down, so that simultaneous failures do not return together. */
const JITTER = 0.2;

/**
 * Milliseconds of a `Retry-After` (RFC 9110 §10.2.3: seconds or a date), at most LIMITS.webhooks.retryAfterMaxMs; 0 when it
 * is absent or invalid.
 */
export function retryAfterMs(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  const asked = /^\d{1,9}$/.test(text)
    ? Number(text) * 1_000
    : /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
      ? Date.parse(text) - nowMs
      : 0;
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(0, asked), LIMITS.webhooks.retryAfterMaxMs);
}

function errorOf(attempt: DeliveryAttempt): DeliveryError | null {
  if (!attempt.answered) return attempt.error;
  if (attempt.status >= 200 && attempt.status < 300) return null;
  if (attempt.status >= 300 && attempt.status < 400) return "redirected";
  return attempt.status === 410 ? "gone" : "refused";
}

/**
 * The record of an attempt, and when the next one is due. 2xx is a success; 410 ends the delivery at once; anything else is
 * retried by the schedule, later if the receiver asks for it and never sooner, until its end.
 *
 * @param attempts so far, this one included
 * @param random from 0 to 1, exclusive
 */
export function judgeAttempt(
  attempt: DeliveryAttempt,
  attempts: number,
  chance: { random: number; nowMs: number },
): AttemptRecord & { error: DeliveryError | null } {
  const error = errorOf(attempt);
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  const record = {
    responseStatus: attempt.answered ? attempt.status : null,
    responseBody: attempt.answered ? attempt.body : null,
    durationMs: Math.round(attempt.durationMs),
    error,
  };
  if (error === null) return { ...record, status: "succeeded", retryInMs: null };
  if (error === "gone" || delayMs === undefined) return { ...record, status: "failed", retryInMs: null };
  const jittered = delayMs * (1 + JITTER * (2 * chance.random - 1));
  const askedMs = attempt.answered ? retryAfterMs(attempt.retryAfter, chance.nowMs) : 0;
  return { ...record, status: "pending", retryInMs: Math.max(jittered, askedMs) };
}
