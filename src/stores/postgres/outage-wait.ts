import { ConfigError } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { Unavailable } from "../../platform/exit-codes.ts";
import type { LifecyclePart } from "../../platform/lifecycle.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause } from "../../platform/time/clock.ts";
import { isAccessRefused, isOutage } from "./postgres.ts";

/** Makes a starting process wait while Postgres is away, as in a fail-over: restarting would not help. */
export interface OutageWait {
  /**
   * Resolves to the result of `attempt`. An attempt that fails because Postgres is unreachable is repeated every
   * LIMITS.postgres.startPollMs. null: stopped before it succeeded.
   * @throws Unavailable when Postgres has been unreachable for LIMITS.postgres.startWaitMs; ConfigError when it rejects our
   *   DATABASE_URL; other errors of `attempt`
   */
  retryThroughOutage<T>(attempt: () => Promise<T>): Promise<T | null>;
  /** Ends all waits at once and allows no new one. */
  stop(): void;
}

interface Deps {
  clock: Clock;
  log: Logger;
}

/** One line. Some of the client's own errors have no message, and some no code. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

export function createOutageWait({ clock, log }: Deps): OutageWait {
  const { startPollMs, startLogMs, startWaitMs } = LIMITS.postgres;
  const stop = new AbortController();

  return {
    async retryThroughOutage(attempt) {
      const sinceMs = clock.monotonic();
      let loggedMs = Number.NEGATIVE_INFINITY;
      while (!stop.signal.aborted) {
        try {
          const value = await attempt();
          if (loggedMs >= 0) log.info("Postgres is available again");
          return value;
        } catch (error) {
          // Its connections are closed by then: that is no outage.
          if (stop.signal.aborted) break;
          if (isAccessRefused(error))
            throw new ConfigError(`DATABASE_URL: Postgres refuses access: ${reasonOf(error)}`, {
              cause: error,
            });
          if (!isOutage(error)) throw error;
          const awayMs = clock.monotonic() - sinceMs;
          if (awayMs >= startWaitMs)
            throw new Unavailable(
              `Postgres has been away for ${Math.round(awayMs / 1_000)} s: ${reasonOf(error)}`,
              { cause: error },
            );
          if (clock.monotonic() - loggedMs >= startLogMs) {
            loggedMs = clock.monotonic();
            const leftS = Math.round((startWaitMs - awayMs) / 1_000);
            log.warn({ why: reasonOf(error), give_up_s: leftS }, "Postgres is unavailable: waiting for it");
          }
        }
        await pause(clock, startPollMs, stop.signal);
      }
      return null;
    },
    stop: () => stop.abort(),
  };
}

/** A lifecycle part whose start waits through an outage of Postgres. */
export function withOutageWait(
  part: LifecyclePart & { start(): Promise<void> | void },
  deps: Deps,
): LifecyclePart {
  const wait = createOutageWait(deps);
  return {
    name: part.name,
    leave: () => part.leave?.(),
    async start() {
      await wait.retryThroughOutage(async () => part.start());
    },
    async drain() {
      wait.stop();
      await part.drain?.();
    },
    stop: () => part.stop?.(),
  };
}
