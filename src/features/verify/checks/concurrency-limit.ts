export interface ConcurrencyLimitSettings {
  /** A check should wait no longer for CPU. Too long a wait is one that two looks in a row have seen. */
  targetMs: number;
  /** Young checks: at the beginning, and however long the waits are; and at most. */
  first: number;
  least: number;
  most: number;
  /**
   * Where the event loop refuses and has rested for less than this share of the time, and checks wait for half of `targetMs`: less by this
   * factor, twice where they wait for too long, down to so many.
   */
  restShare: number;
  trim: number;
  leastBusy: number;
  /** While no cut was made for `calmMs`, and else; of a limit that is used up to `growFrom`, not more often than `growEveryMs`. */
  growth: number;
  slowGrowth: number;
  growEveryMs: number;
  growFrom: number;
  calmMs: number;
  /** After a cut the next one waits for what it has brought. */
  settleMs: number;
}

/** What a look at the load of this process saw. */
export interface LoadSample {
  /** How long a check waits for CPU, in milliseconds. */
  waitMs: number;
  /** Share of the time since the look before in which the event loop had nothing to do: 0 to 1. */
  idle: number;
  /** Whether anybody was refused since then. */
  refused: boolean;
  /** Checks that are young. */
  young: number;
  /** The most that were young at once since the look before. */
  peak: number;
}

/** How many checks may be young. */
export interface ConcurrencyLimit {
  limit(): number;
  /** The loop refuses and does not rest. */
  isSaturated(): boolean;
  /** Grows with each time that the limit on young checks was lowered. */
  cuts(): number;
  look(nowMs: number, seen: LoadSample): void;
  /** Nothing is under way: what was learnt of other days says little. */
  reset(): void;
}

/**
 * It begins low enough for a burst of requests to be answered in time, and grows while it is used up and nothing waits. It
 * is cut to what would have waited for as long as is wanted: in proportion, since a queue is as long as its wait.
 *
 * A loop that refuses and never rests is behind with requests which it has not seen yet: they wait in sockets, and, where
 * every connection is taken, at the clients. Nothing here can measure that. So admitted checks make room for refusals until
 * the loop rests now and then: at ten times the capacity refusals were answered after two seconds without it.
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
    // So few do not make each other wait: something else takes the CPU.
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
