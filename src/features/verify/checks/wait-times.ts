import type { CheckTimes } from "../../../engine/check-times.ts";
import type { Span } from "../../../platform/telemetry/tracing.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import type { WaitTimes } from "../answer/answer-note.ts";
import { recordCheckSpans } from "./check-spans.ts";

/** The times of a check in flight. Times are monotonic milliseconds. */
export interface TimedCheck {
  /** Span of the request that started it, if that is traced. */
  readonly span: Span | null;
  readonly question: { readonly address: { readonly domain: string } };
  /** When the cache was asked, and the check pool; 0: it was not. */
  readonly lookMs: number;
  readonly askMs: number;
  /** Reported by its thread, if it is traced. */
  readonly thread: CheckTimes | null;
}

export function startCheckSpan({ scope, refresh }: { scope: Scope; refresh: boolean }, parent: Span): Span {
  return parent.child("check", { attributes: { "rcpt.scope": scope, "rcpt.refresh": refresh } });
}

export function waitTimesOf(clock: Clock, { lookMs, askMs, thread }: TimedCheck): WaitTimes {
  const nowMs = clock.monotonic();
  return {
    cacheMs: lookMs === 0 ? null : (askMs === 0 ? nowMs : askMs) - lookMs,
    checkMs: askMs === 0 ? null : nowMs - askMs,
    thread,
  };
}

/** The outcome for one waiter: a request that joined the check gets the time that it waited itself. */
export function outcomeForWaiter<L extends { times?: WaitTimes }>(
  clock: Clock,
  outcome: L,
  { joinedMs }: { joinedMs: number | null },
): L {
  if (joinedMs === null || outcome.times === undefined) return outcome;
  const waitMs = clock.monotonic() - joinedMs;
  return { ...outcome, times: { cacheMs: null, checkMs: null, thread: null, waitMs } };
}

/** The cache has answered. */
export function recordCacheLookup({ span, lookMs }: TimedCheck, hit: boolean): void {
  span?.child("cache get", { kind: "client", startMs: lookMs, attributes: { "rcpt.cache.hit": hit } }).end();
}

/** The check has ended. */
export function recordOutcome(
  clock: Clock,
  check: TimedCheck,
  { entry, cached }: { entry: { evidence: Evidence } | null; cached: boolean },
): void {
  const { span, thread, askMs, question } = check;
  if (span === null) return;
  const endedMs = clock.monotonic();
  span.set({ "rcpt.cached": cached });
  const { domain } = question.address;
  if (thread !== null)
    recordCheckSpans(span, thread, { beganMs: askMs, endedMs, domain }, entry?.evidence ?? null);
  if (entry === null) span.fail("no_evidence");
  span.end(endedMs);
}
