import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { isPromoted } from "../../verification/lists/promoted.ts";

/** The domains that the operator marks as disposable for all teams, in this process's memory. */
export interface PromotedDisposables {
  /** Whether the A-label domain or a parent of it is promoted. No I/O. */
  covers(domain: string): boolean;
  /**
   * Called when they have changed, or may have: reads them again soon, until it succeeds. The known ones stay in force
   * until then.
   */
  reload(): void;
  /** Resolves when they were read. @throws errors of the read */
  start(): Promise<void>;
  stop(): void;
}

export interface PromotedDisposablesDeps {
  /** At most LIMITS.overrides.promoted domains. */
  read(): Promise<string[]>;
  clock: Clock;
  log: Logger;
}

export function createPromotedDisposables(deps: PromotedDisposablesDeps): PromotedDisposables {
  let domains: ReadonlySet<string> = new Set();
  let reading: Promise<void> | null = null;
  /** Something changed since the current read started: it may have seen the old state. */
  let again = false;
  let retry: Timer | null = null;
  let stopped = false;

  async function readUntilCurrent(): Promise<void> {
    try {
      do {
        again = false;
        domains = new Set(await deps.read());
      } while (again && !stopped);
    } finally {
      // Here, not in a callback of the promise: a change in between would be lost.
      reading = null;
    }
  }

  function refresh(): Promise<void> {
    again = true;
    reading ??= readUntilCurrent();
    return reading;
  }

  function failed(error: unknown): void {
    if (stopped || retry !== null) return;
    deps.log.warn({ err: error }, "cannot read the promoted disposable domains");
    retry = deps.clock.after(LIMITS.overrides.rereadMs, () => {
      retry = null;
      reload();
    });
  }

  function reload(): void {
    if (!stopped) refresh().catch(failed);
  }

  return {
    covers: (domain) => isPromoted(domain, domains),
    reload,
    start: refresh,
    stop() {
      stopped = true;
      retry?.cancel();
    },
  };
}
