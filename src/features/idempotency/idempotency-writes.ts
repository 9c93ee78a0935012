import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
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
  const waking = new Set<() => void>();
  let draining = false;

  /** Waits in the background; ends early when it is time to drain. */
  function pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        timer.cancel();
        waking.delete(wake);
        resolve();
      };
      const timer = clock.after(delayMs, wake);
      waking.add(wake);
    });
  }

  async function repeat(write: KeyWrite, untilMs: number, tried: () => void): Promise<void> {
    for (let delayMs: number = writeBackoffMs; ; delayMs = Math.min(2 * delayMs, writeBackoffMaxMs)) {
      const last = draining;
      try {
        return await write.perform();
      } catch (error) {
        tried();
        const hopeless = !isOutage(error) || last || clock.monotonic() + delayMs >= untilMs;
        if (hopeless || (!draining && waking.size >= writesRepeated))
          return log.error({ err: error, team_id: write.teamId }, write.otherwise);
      }
      if (!draining) await pause(delayMs);
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
      draining = true;
      for (const wake of [...waking]) wake();
      await Promise.all(running);
    },
  };
}
