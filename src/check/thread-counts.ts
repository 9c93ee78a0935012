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

function counted(probes: ReadonlyMap<string | null, ReadonlyMap<SmtpClass, number>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [provider, classes] of probes) {
    for (const [outcome, count] of classes) {
      const key = `${provider ?? "other"} ${outcome}`;
      counts[key] = (counts[key] ?? 0) + count;
    }
  }
  return counts;
}

export function createThreadCounts(clock: Clock, send: Send): ThreadCounts {
  /** By provider, then class: a key made of both would be a new string for each probe. */
  const probes = new Map<string | null, Map<SmtpClass, number>>();
  let sessionsOpened = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    if (sessionsOpened === 0 && probes.size === 0) return;
    send(counted(probes), sessionsOpened);
    probes.clear();
    sessionsOpened = 0;
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    clock.after(LIMITS.check.countsEveryMs, flush);
  }

  return {
    probe(provider, outcome) {
      let classes = probes.get(provider);
      if (classes === undefined) {
        classes = new Map();
        probes.set(provider, classes);
      }
      classes.set(outcome, (classes.get(outcome) ?? 0) + 1);
      schedule();
    },
    session() {
      sessionsOpened += 1;
      schedule();
    },
    flush,
  };
}
