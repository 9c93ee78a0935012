import type { Clock } from "../core/clock.ts";
import { ConfigError } from "../core/config.ts";
import { Unavailable } from "../core/exit-codes.ts";
import type { Part } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { isOutage, isRefusal } from "./postgres.ts";

/** Holds a process that starts back while Postgres is away, as in a fail-over: to end and to be started anew helps nobody. */
export interface OutageWait {
  /**
   * What `attempt` resolves to. One that fails for want of Postgres is made again, every LIMITS.postgres.startPollMs. null: told
   * to stop meanwhile.
   * @throws Unavailable when Postgres has been away for LIMITS.postgres.startWaitMs; ConfigError when it lets nobody in by our
   * DATABASE_URL; what `attempt` throws when it is no outage
   */
  through<T>(attempt: () => Promise<T>): Promise<T | null>;
  /** Who waits is let go at once, and nobody waits again. */
  stop(): void;
}

interface Deps {
  clock: Clock;
  log: Logger;
}

/** One line. Of the client's own errors some have no message, and some no code. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

export function createOutageWait({ clock, log }: Deps): OutageWait {
  const { startPollMs, startLogMs, startWaitMs } = LIMITS.postgres;
  let stopped = false;
  let wake = () => {};

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(startPollMs, resolve);
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  return {
    async through(attempt) {
      const sinceMs = clock.monotonic();
      let saidMs = Number.NEGATIVE_INFINITY;
      while (!stopped) {
        try {
          const value = await attempt();
          if (saidMs >= 0) log.info("Postgres can be used again");
          return value;
        } catch (error) {
          // Its connections are closed by then: that is no outage.
          if (stopped) break;
          if (isRefusal(error))
            throw new ConfigError(`DATABASE_URL: Postgres lets nobody in by it: ${reasonOf(error)}`, {
              cause: error,
            });
          if (!isOutage(error)) throw error;
          const awayMs = clock.monotonic() - sinceMs;
          if (awayMs >= startWaitMs)
            throw new Unavailable(
              `Postgres has been away for ${Math.round(awayMs / 1_000)} s: ${reasonOf(error)}`,
              { cause: error },
            );
          if (clock.monotonic() - saidMs >= startLogMs) {
            saidMs = clock.monotonic();
            const leftS = Math.round((startWaitMs - awayMs) / 1_000);
            log.warn({ why: reasonOf(error), give_up_s: leftS }, "Postgres cannot be used: waiting for it");
          }
        }
        await pause();
      }
      return null;
    },
    stop() {
      stopped = true;
      wake();
    },
  };
}

/** A part whose start outlasts an outage of Postgres. */
export function outlasting(part: Part & { start(): Promise<void> | void }, deps: Deps): Part {
  const wait = createOutageWait(deps);
  return {
    name: part.name,
    leave: () => part.leave?.(),
    async start() {
      await wait.through(async () => part.start());
    },
    async drain() {
      wait.stop();
      await part.drain?.();
    },
    stop: () => part.stop?.(),
  };
}
