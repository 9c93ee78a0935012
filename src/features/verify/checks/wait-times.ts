import type { CheckTimes } from "../../../engine/check-times.ts";
import type { Span } from "../../../platform/telemetry/tracing.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import type { WaitTimes } from "../answer/answer-note.ts";
import { recordCheckSpans } from "./check-spans.ts";

/** A flight, as far as it is told how long it took. Times are monotonic milliseconds. */
export interface TimedCheck {
  /** Of who began it, where he is traced. */
  readonly span: Span | null;
  readonly question: { readonly address: { readonly domain: string } };
  /** When the cache was asked, and the pool; 0: it was not. */
  readonly lookMs: number;
  readonly askMs: number;
  /** Told by its thread, where it is traced. */
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

/** A landing as it is told to one of those who waited for it: who joined is told what he waited, not what others did. */
export function outcomeForWaiter<L extends { times?: WaitTimes }>(
  clock: Clock,
  landing: L,
  { joinedMs }: { joinedMs: number | null },
): L {
  if (joinedMs === null || landing.times === undefined) return landing;
  const waitMs = clock.monotonic() - joinedMs;
  return { ...landing, times: { cacheMs: null, checkMs: null, thread: null, waitMs } };
}

/** The cache has answered. */
export function recordCacheLookup({ span, lookMs }: TimedCheck, hit: boolean): void {
  span?.child("cache get", { kind: "client", startMs: lookMs, attributes: { "rcpt.cache.hit": hit } }).end();
}

/** It has landed. */
export function recordOutcome(
  clock: Clock,
  flight: TimedCheck,
  { entry, cached }: { entry: { evidence: Evidence } | null; cached: boolean },
): void {
  const { span, thread, askMs, question } = flight;
  if (span === null) return;
  const endedMs = clock.monotonic();
  span.set({ "rcpt.cached": cached });
  const { domain } = question.address;
  if (thread !== null)
    recordCheckSpans(span, thread, { beganMs: askMs, endedMs, domain }, entry?.evidence ?? null);
  if (entry === null) span.fail("no_evidence");
  span.end(endedMs);
}
