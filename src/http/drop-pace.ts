import type { Clock, Timer } from "../core/clock.ts";

export interface DropLimits {
  /** Of all bodies of the process together. */
  bytesPerS: number;
  tickMs: number;
}

/** How fast bytes of refused bodies are read, so that a client still gets to its answer. */
export interface DropPace {
  /**
   * @param resume called once the connection may be read on
   * @returns false: the rate is used up, and the connection must be paused until `resume`
   */
  dropped(bytes: number, resume: () => void): boolean;
  /** The connection has gone: its `resume` is not called any more. */
  forget(resume: () => void): void;
}

/**
 * One rate for all bodies that are read and dropped. uWebSockets.js hands each piece over as memory outside of V8's heap,
 * which V8 answers with full collections: two connections that sent refused bodies of 10 MB as fast as they could made the
 * slowest hundredth of other answers nine times slower. Reads are as large as uWebSockets.js makes them (up to 512 KiB), so
 * one piece may overdraw the rate; the next is waited for longer.
 */
export function createDropPace(clock: Clock, { bytesPerS, tickMs }: DropLimits): DropPace {
  const bytesPerTick = (bytesPerS * tickMs) / 1_000;
  /** In the order in which they were paused. */
  const paused = new Set<() => void>();
  let left = bytesPerTick;
  let timer: Timer | null = null;

  function tick(): void {
    timer = null;
    left = Math.min(bytesPerTick, left + bytesPerTick);
    if (left > 0) {
      // One at a time: what it reads may use up the rate again.
      const [next] = paused;
      if (next !== undefined) {
        paused.delete(next);
        next();
      }
    }
    schedule();
  }

  function schedule(): void {
    if (timer === null && (paused.size > 0 || left < bytesPerTick)) timer = clock.after(tickMs, tick);
  }

  return {
    dropped(bytes, resume) {
      left -= bytes;
      schedule();
      if (left > 0) return true;
      paused.add(resume);
      return false;
    },
    forget(resume) {
      paused.delete(resume);
    },
  };
}
