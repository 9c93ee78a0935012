import { LIMITS } from "../../config/limits/limits.ts";
import type { BreakerRecord, OpenBreaker } from "./breaker-records.ts";
import type { BreakerUpdate } from "./messages.ts";
import type { BreakerScope } from "./scope.ts";
import type { LocalBreakerState, OpenBreakerState } from "./store.ts";

// State transitions of one open breaker, from this process or the store, and the messages about it. `now` is
// `Clock.monotonic` milliseconds.

/** State from this process, or from the store, which also knows whether another process has the trial. */
export type ReportedBreakerState = LocalBreakerState & Partial<OpenBreakerState>;

/** @param reply the server's reply, redacted; "": this process has not received it */
export function createOpenBreaker(state: ReportedBreakerState, reply: string, now: number): OpenBreaker {
  const open: OpenBreaker = {
    sinceMs: 0,
    dueAt: 0,
    level: 0,
    isTrialElsewhere: false,
    reply,
    trial: null,
    isClaimingTrial: false,
    blockedDomains: new Map(),
  };
  applyState(open, state, now);
  return open;
}

/** While another process holds the trial, this process does not keep asking for it. */
export function applyState(open: OpenBreaker, state: ReportedBreakerState, now: number): void {
  const { level, openForMs, dueInMs, trial = false } = state;
  open.level = level;
  open.sinceMs = now - openForMs;
  open.dueAt = now + (trial ? Math.max(dueInMs, LIMITS.breaker.trialWaitMs) : dueInMs);
  open.isTrialElsewhere = trial;
}

/** The state in the form for the store. */
export function localStateOf({ level, sinceMs, dueAt }: OpenBreaker, now: number): LocalBreakerState {
  return { level, openForMs: now - sinceMs, dueInMs: dueAt - now };
}

/** An open breaker, as the operator sees it. */
export interface BreakerNow extends Pick<LocalBreakerState, "openForMs" | "dueInMs"> {
  way: BreakerScope;
  /** The server's reply, redacted; "": another process received it. */
  reply: string;
}

/** Empty of a closed one. */
export function breakerNow({ way, open }: BreakerRecord, now: number): BreakerNow[] {
  if (open === null) return [];
  const { openForMs, dueInMs } = localStateOf(open, now);
  return [{ way, openForMs, dueInMs, reply: open.reply }];
}

/** The state in the form for check threads. @param opened false: it was open before, the time is new */
export function openUpdateOf(
  { way }: BreakerRecord,
  { dueAt }: OpenBreaker,
  opened: boolean,
  now: number,
): BreakerUpdate {
  return { kind: "open", way, dueInMs: dueAt - now, opened };
}

/** Until the next trial: twice as long with each level, up to a bound, with some chance in it. */
export function trialDelayMs(
  level: number,
  { firstMs, random }: { firstMs: number; random(): number },
): number {
  const { maxMs, jitter } = LIMITS.breaker;
  const delayMs = Math.min(firstMs * 2 ** Math.min(level, 30), Math.max(firstMs, maxMs));
  return Math.round(delayMs * (1 + jitter * random()));
}

/** A trial of the site met a block of `domain`. @returns how many domains its trials met one of lately */
export function countBlockedDomain({ blockedDomains }: OpenBreaker, domain: string, now: number): number {
  for (const [other, atMs] of blockedDomains)
    if (atMs <= now - LIMITS.breaker.answersKeptMs) blockedDomains.delete(other);
  blockedDomains.set(domain, now);
  return blockedDomains.size;
}
