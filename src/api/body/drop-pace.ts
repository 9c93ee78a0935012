import type { Clock, Timer } from "../../platform/time/clock.ts";

export interface DropLimits {
  /** Rate for all bodies of the process together. */
  bytesPerS: number;
  tickMs: number;
}

/** A refused body whose bytes still come. */
export interface DroppedBody {
  /** Network of the client's address. */
  readonly client: string;
  /** Called once when the connection may be read on. */
  resume(): void;
}

/** The rate at which bytes of refused bodies are read, so that a client still reaches its answer. */
export interface DropPace {
  /**
   * @param bytes received of the body; 0: dropping it is about to start
   * @returns false: the rate is used up, and the connection must be paused until `resume`
   */
  dropped(body: DroppedBody, bytes: number): boolean;
  /** The connection has gone: its `resume` is not called any more. */
  forget(body: DroppedBody): void;
}

/**
 * One rate for all bodies that are read and dropped. uWebSockets.js hands each piece over as memory outside of V8's heap,
 * to which V8 responds with full collections. Two connections that sent refused bodies of 10 MB at full speed made the
 * slowest hundredth of other answers nine times slower.
 *
 * Reads are as large as uWebSockets.js makes them (up to 512 KiB), so one piece may overdraw the rate; the next waits
 * longer. Clients take turns, independent of their number of connections.
 */
export function createDropPace(clock: Clock, { bytesPerS, tickMs }: DropLimits): DropPace {
  const bytesPerTick = (bytesPerS * tickMs) / 1_000;
  /** Paused bodies by client, in the order of the pauses. The first client is resumed next. */
  const paused = new Map<string, Set<DroppedBody>>();
  let left = bytesPerTick;
  let timer: Timer | null = null;

  function tick(): void {
    timer = null;
    left = Math.min(bytesPerTick, left + bytesPerTick);
    // Only one at a time: reading its piece may use up the rate again.
    if (left > 0) takeNext()?.resume();
    schedule();
  }

  function takeNext(): DroppedBody | null {
    for (const [client, bodies] of paused) {
      paused.delete(client);
      const [next = null] = bodies;
      if (next === null) continue;
      bodies.delete(next);
      if (bodies.size > 0) paused.set(client, bodies);
      return next;
    }
    return null;
  }

  function schedule(): void {
    if (timer === null && (paused.size > 0 || left < bytesPerTick)) timer = clock.after(tickMs, tick);
  }

  return {
    dropped(body, bytes) {
      left -= bytes;
      schedule();
      if (left > 0) return true;
      const bodies = paused.get(body.client);
      if (bodies === undefined) paused.set(body.client, new Set([body]));
      else bodies.add(body);
      return false;
    },
    forget(body) {
      const bodies = paused.get(body.client);
      if (bodies?.delete(body) === true && bodies.size === 0) paused.delete(body.client);
    },
  };
}
