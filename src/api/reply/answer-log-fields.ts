import type { AnswerNote, WaitTimes } from "../../features/verify/answer/answer-note.ts";

/** Log fields for the answer of a verification: verdicts, codes, times. Never the address, its domain or its server. */
export function answerLogFields({ result, smtp, times }: AnswerNote): Record<string, unknown> {
  const { verdict, reason, cached, checks } = result;
  return {
    ...{ verdict, reason, cached, provider: checks.mx.provider ?? "other", mx: checks.mx.status },
    ...(smtp === null ? {} : { smtp: checks.smtp.status, smtp_code: checks.smtp.code, smtp_rule: smtp.rule }),
    ...(smtp === null ? {} : { catch_all: checks.smtp.catch_all, smtp_ms: smtp.latencyMs }),
    ...(times === null ? {} : timeLogFields(times)),
  };
}

function timeLogFields({ cacheMs, checkMs, thread, waitMs }: WaitTimes): Record<string, unknown> {
  if (waitMs !== undefined) return { joined: true, wait_ms: roundToHundredths(waitMs) };
  const fields: Record<string, number> = {};
  if (cacheMs !== null) fields.cache_ms = roundToHundredths(cacheMs);
  if (checkMs === null) return fields;
  fields.check_ms = roundToHundredths(checkMs);
  if (thread === null) return fields;
  fields.queue_ms = roundToHundredths(Math.max(0, checkMs - thread.totalMs));
  fields.dns_ms = roundToHundredths(thread.plannedMs);
  fields.probe_ms = roundToHundredths(thread.totalMs - thread.plannedMs);
  fields.attempts = thread.attempts.length;
  return fields;
}

export function roundToHundredths(ms: number): number {
  return Math.round(ms * 100) / 100;
}
