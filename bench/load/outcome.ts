/** Why a request had no answer that counts. */
export type FailureCause =
  /** No connection: refused, unreachable, no such name, TLS, or not within the timeout. */
  | "connect"
  /** No whole answer within the timeout. */
  | "timeout"
  /** The connection ended before the answer did. */
  | "reset"
  /** The answer is not HTTP, or a 200 without a result. */
  | "malformed"
  /** Longer than LIMITS.answerBytes. */
  | "too_large";

export interface Answer {
  kind: "answer";
  status: number;
  /** Error code of a problem; null: no problem. */
  code: string | null;
  /** Verdict of a result. */
  verdict: string | null;
  /** Whether a result came from the cache. */
  cached: boolean | null;
  /** As the server asked; null: it did not. */
  retryAfterMs: number | null;
}

export interface Failure {
  kind: "failure";
  cause: FailureCause;
}

export type Outcome = Answer | Failure;

/** A keep-alive connection, or a slot for one: one request at a time. */
export interface Connection {
  /** @param done called once, later, unless the connection is closed first */
  send(path: string, done: (outcome: Outcome) => void): void;
  /** Requests in flight are never reported. */
  close(): void;
}

const NAME = /^[a-z0-9_]{1,64}$/;
/** A name that a server sent, fit to be a key of a table. */
const nameOf = (value: unknown) => (typeof value === "string" && NAME.test(value) ? value : null);

/** @param text seconds, or a date (RFC 9110 §10.2.3) */
export function retryAfterMs(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/**
 * Reads an answer. A 200 must be a verification result; with any other status the body is read if it is a problem.
 * @param retryAfter the field's value @param nowMs epoch milliseconds
 */
export function readAnswer(status: number, retryAfter: string | null, body: string, nowMs: number): Outcome {
  let parsed: Record<string, unknown> | null = null;
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null) parsed = value as Record<string, unknown>;
  } catch {
    parsed = null;
  }
  const isResult = status >= 200 && status < 300;
  const verdict = isResult ? nameOf(parsed?.verdict) : null;
  if (isResult && verdict === null) return { kind: "failure", cause: "malformed" };
  return {
    kind: "answer",
    status,
    code: isResult ? null : nameOf(parsed?.code),
    verdict,
    cached: isResult && typeof parsed?.cached === "boolean" ? parsed.cached : null,
    retryAfterMs: retryAfterMs(retryAfter, nowMs),
  };
}
