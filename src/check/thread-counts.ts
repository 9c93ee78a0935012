import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { SmtpClass } from "./evidence.ts";

/**
 * Counters of a check thread, sent to the main thread in batches: at most one message every
 * `LIMITS.check.countsEveryMs`, none while nothing happens.
 */
export interface ThreadCounts {
  /** A probe ended: counted under `provider class`. */
  probe(provider: string | null, outcome: SmtpClass): void;
  /** A connection was opened to a host of `site`. */
  session(): void;
  flush(): void;
}

type Send = (probes: Record<string, number>, sessionsOpened: number) => void;

export function createThreadCounts(clock: Clock, send: Send): ThreadCounts {
  let probes: Record<string, number> = {};
  let sessionsOpened = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    if (sessionsOpened === 0 && Object.keys(probes).length === 0) return;
    send(probes, sessionsOpened);
    probes = {};
    sessionsOpened = 0;
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    clock.after(LIMITS.check.countsEveryMs, flush);
  }

  return {
    probe(provider, outcome) {
      const key = `${provider ?? "other"} ${outcome}`;
      probes[key] = (probes[key] ?? 0) + 1;
      schedule();
    },
    session() {
      sessionsOpened += 1;
      schedule();
    },
    flush,
  };
}
