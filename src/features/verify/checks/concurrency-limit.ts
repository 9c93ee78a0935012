export interface ConcurrencyLimitSettings {
  /** A check should wait no longer for CPU. Too long a wait is one that two looks in a row have seen. */
  targetMs: number;
  /** Young checks: at the beginning, and however long the waits are; and at most. */
  first: number;
  least: number;
  most: number;
  /**
   * `trim` multiplies the limit when the event loop refuses checks, was idle for less than `restShare` of the time, and
   * checks wait for half of `targetMs`. If they wait too long, it is multiplied twice. The lower bound is `leastBusy`.
   */
  restShare: number;
  trim: number;
  leastBusy: number;
  /** Growth of a limit that is used up to `growFrom`, at most every `growEveryMs`; `slowGrowth` until `calmMs` after a cut. */
  growth: number;
  slowGrowth: number;
  growEveryMs: number;
  growFrom: number;
  calmMs: number;
  /** Minimum time between two cuts, so that the first shows its effect. */
  settleMs: number;
}

/** Load of this process at one look. */
export interface LoadSample {
  /** How long a check waits for CPU, in milliseconds. */
  waitMs: number;
  /** Share of the time since the look before in which the event loop had nothing to do: 0 to 1. */
  idle: number;
  /** True when a check was refused since then. */
  refused: boolean;
  /** Checks that are young. */
  young: number;
  /** The most that were young at once since the look before. */
  peak: number;
}

/** The limit on the number of young checks. */
export interface ConcurrencyLimit {
  limit(): number;
  /** The loop refuses and does not rest. */
  isSaturated(): boolean;
  /** Grows with each time that the limit on young checks was lowered. */
  cuts(): number;
  look(nowMs: number, seen: LoadSample): void;
  /** Called when no check is in progress: the learned limit is outdated. */
  reset(): void;
}

/**
 * The limit starts low enough for a burst of requests to be answered in time, and grows while it is used up and nothing
 * waits. It is cut in proportion to the wait, since a queue is as long as its wait.
 *
 * An event loop that refuses checks and is never idle is behind with requests that it has not read yet. They wait in
 * sockets or, when every connection is in use, at the clients, where nothing can be measured. So admitted checks make room
 * for refusals until the loop is idle now and then. Without that, refusals at ten times the capacity were answered after
 * two seconds.
 */
export function createConcurrencyLimit(limits: ConcurrencyLimitSettings): ConcurrencyLimit {
  const { targetMs, least, leastBusy, most } = limits;
  let limit = limits.first;
  let lastWaitMs = 0;
  let isBusy = false;
  let cuts = 0;
  let cutMs = Number.NEGATIVE_INFINITY;
  let grownMs = Number.NEGATIVE_INFINITY;

  function cut(nowMs: number, waitMs: number, young: number): void {
    // So few checks do not delay each other: another process uses the CPU.
    if (young <= least || nowMs - cutMs < limits.settleMs) return;
    cutMs = nowMs;
    cuts += 1;
    limit = Math.max(least, Math.min(limit, young * Math.max(0.5, targetMs / waitMs)));
  }

  function trim(nowMs: number, waitMs: number): void {
    cutMs = nowMs;
    const left = limit * (waitMs > targetMs ? limits.trim ** 2 : limits.trim);
    if (limit > leastBusy) cuts += 1;
    limit = Math.max(Math.min(limit, leastBusy), left);
  }

  function adapt(nowMs: number, peak: number): void {
    if (nowMs - grownMs < limits.growEveryMs) return;
    grownMs = nowMs;
    const growth = nowMs - cutMs < limits.calmMs ? limits.slowGrowth : limits.growth;
    if (peak > limit * limits.growFrom) limit = Math.min(most, limit * growth);
    // Unused room would be filled at once by the next burst.
    else if (limit > limits.first) limit = Math.max(limits.first, peak / limits.growFrom, limit / growth);
    else limit = Math.min(limits.first, limit * growth);
  }

  return {
    limit: () => limit,
    isSaturated: () => isBusy,
    cuts: () => cuts,
    look(nowMs, { waitMs, idle, refused, young, peak }) {
      const longWaitMs = Math.min(waitMs, lastWaitMs);
      lastWaitMs = waitMs;
      isBusy = refused && idle < limits.restShare;
      // A client that retries as soon as it is refused keeps the loop busy as well: while checks do not wait, there is room
      // for it.
      if (isBusy && waitMs > targetMs / 2) trim(nowMs, waitMs);
      // So few are the cause of no wait: something else is, and would keep them few for ever.
      else if (limit < least) adapt(nowMs, peak);
      else if (longWaitMs > targetMs) cut(nowMs, longWaitMs, young);
      else if (waitMs < targetMs / 2) adapt(nowMs, peak);
    },
    reset() {
      limit = limits.first;
      lastWaitMs = 0;
      isBusy = false;
      cutMs = Number.NEGATIVE_INFINITY;
      grownMs = Number.NEGATIVE_INFINITY;
    },
  };
}
