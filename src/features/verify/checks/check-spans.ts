import type { AttemptTimes, CheckTimes } from "../../../engine/check-times.ts";
import type { Span, SpanAttributes } from "../../../platform/telemetry/tracing.ts";
import type { Evidence } from "../../../verification/evidence.ts";

/**
 * Records the spans of a check from its thread's times: look-ups of the domain, a span for each host that was asked, and
 * the catch-all probe. The thread has a clock of its own. So the check is assumed to have ended with its answer, at
 * `endedMs`; the time between `beganMs`, the start of `span`, and its beginning is queueing.
 * @param domain of the recipient: a host or a site with the same name is left out
 */
export function recordCheckSpans(
  span: Span,
  times: CheckTimes,
  { beganMs, endedMs, domain }: { beganMs: number; endedMs: number; domain: string },
  evidence: Evidence | null,
): void {
  const fromMs = Math.max(beganMs, endedMs - times.totalMs);
  span.set({ "rcpt.check.queue_ms": rounded(fromMs - beganMs), ...ofEvidence(evidence) });
  const lookUp = span.child("dns", {
    kind: "client",
    startMs: fromMs,
    attributes: evidence === null ? {} : { "rcpt.mx.status": evidence.mx.status },
  });
  lookUp.end(fromMs + times.plannedMs);
  const [last] = times.attempts.slice(-1);
  for (const attempt of times.attempts)
    recordAttemptSpan(span, attempt, fromMs, {
      ...whereOf(attempt, domain),
      ...(attempt === last ? ofSmtp(evidence) : {}),
    });
  if (last === undefined || evidence?.smtp == null || evidence.smtp.catchAll === "not_probed") return;
  const catchAll = span.child("catch-all", {
    startMs: fromMs + last.endedMs,
    attributes: { "rcpt.catch_all": evidence.smtp.catchAll },
  });
  catchAll.end(fromMs + times.totalMs);
}

function recordAttemptSpan(span: Span, attempt: AttemptTimes, fromMs: number, known: SpanAttributes): void {
  const {
    provider,
    route: way,
    stage,
    cause,
    code,
    tls,
    reused,
    sessionMs: turnMs,
    beganMs,
    endedMs,
  } = attempt;
  const probe = span.child("probe", {
    kind: "client",
    startMs: fromMs + beganMs,
    attributes: {
      ...{ "rcpt.provider": provider ?? "other", "rcpt.way": way },
      ...{ "rcpt.smtp.stage": stage, "rcpt.smtp.tls": tls, "rcpt.session.reused": reused },
      ...(code === 0 ? {} : { "rcpt.smtp.code": code }),
      ...(turnMs === null ? {} : { "rcpt.line_ms": rounded(turnMs - beganMs) }),
      ...(turnMs === null ? {} : { "rcpt.transaction_ms": rounded(endedMs - turnMs) }),
      ...known,
    },
  });
  for (const { stage: reached, atMs } of attempt.opened) probe.event(reached, fromMs + atMs);
  if (turnMs !== null) probe.event("turn", fromMs + turnMs);
  if (cause !== null) probe.fail(cause);
  probe.end(fromMs + endedMs);
}

/**
 * Leaves out a host or site with the domain's own name. Without an MX record a domain is its own host, and most small
 * domains are their own site.
 */
function whereOf({ site, host }: AttemptTimes, domain: string): SpanAttributes {
  return {
    ...(site === domain ? {} : { "rcpt.site": site }),
    ...(host === domain ? {} : { "server.address": host }),
  };
}

function ofEvidence(evidence: Evidence | null): SpanAttributes {
  if (evidence === null) return {};
  return {
    "rcpt.mx.status": evidence.mx.status,
    "rcpt.provider": evidence.mx.provider ?? "other",
    ...ofSmtp(evidence),
  };
}

function ofSmtp(evidence: Evidence | null): SpanAttributes {
  const smtp = evidence?.smtp ?? null;
  return smtp === null ? {} : { "rcpt.smtp.class": smtp.class, "rcpt.smtp.rule": smtp.rule };
}

/** Microseconds are enough. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
