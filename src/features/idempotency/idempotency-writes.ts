import { setMaxListeners } from "node:events";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause } from "../../platform/time/clock.ts";
import { isOutage } from "../../stores/postgres/postgres.ts";

/**
 * Writes the result of an idempotency key after the work: its answer, or that it is free. The caller's answer does not wait
 * for an unreachable Postgres. But without the write, the key would refuse a repeated request until its lease ends, and
 * then allow the work again. So the statement is repeated in the background during the lease.
 */
export interface IdempotencyWrites {
  /**
   * Resolves when `write` has succeeded, or its first try failed or took LIMITS.idempotency.writeWaitMs: never rejects.
   * @param untilMs end of the lease, `clock.monotonic()`
   */
  run(write: KeyWrite, untilMs: number): Promise<void>;
  /** Tries each that is left once more, now, and comes to an end. */
  drain(): Promise<void>;
}

export interface KeyWrite {
  teamId: string;
  /** Safe to repeat. */
  perform(): Promise<void>;
  /** Logged when it is given up. */
  otherwise: string;
}

export function createIdempotencyWrites({ clock, log }: { clock: Clock; log: Logger }): IdempotencyWrites {
  const { writeWaitMs, writesRepeated, writeBackoffMs, writeBackoffMaxMs } = LIMITS.idempotency;
  const running = new Set<Promise<void>>();
  const draining = new AbortController();
  const { signal } = draining;
  setMaxListeners(0, signal);
  /** Writes that wait to be repeated. */
  let waiting = 0;

  async function repeat(write: KeyWrite, untilMs: number, tried: () => void): Promise<void> {
    for (let delayMs: number = writeBackoffMs; ; delayMs = Math.min(2 * delayMs, writeBackoffMaxMs)) {
      const last = signal.aborted;
      try {
        return await write.perform();
      } catch (error) {
        tried();
        const hopeless = !isOutage(error) || last || clock.monotonic() + delayMs >= untilMs;
        if (hopeless || (!signal.aborted && waiting >= writesRepeated))
          return log.error({ err: error, team_id: write.teamId }, write.otherwise);
      }
      waiting += 1;
      await pause(clock, delayMs, signal);
      waiting -= 1;
    }
  }

  return {
    run(write, untilMs) {
      return new Promise((resolve) => {
        const timer = clock.after(writeWaitMs, resolve);
        const repeated = repeat(write, untilMs, resolve).finally(() => {
          timer.cancel();
          running.delete(repeated);
          resolve();
        });
        running.add(repeated);
      });
    },
    async drain() {
      draining.abort();
      await Promise.all(running);
    },
  };
}
