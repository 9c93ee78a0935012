import type { Connection } from "./outcome.ts";
import { createSender, type Loop, type LoopEnd, type LoopParts } from "./sender.ts";
import type { Planned } from "./tally.ts";

export interface OpenLoopParts extends LoopParts {
  /** Times of requests from the start, ascending, milliseconds. */
  arrivals(): number;
  /** Requests that may wait for a connection. */
  backlogMax: number;
}

/**
 * Requests fall due at their times, whatever becomes of those before, as independent callers come. Who finds no free
 * connection waits for one, and its latency counts from the time it was due: a server that stalls cannot make us ask
 * less and so look better than it is ("coordinated omission").
 */
export function createOpenLoop(parts: OpenLoopParts): Loop {
  const { clock, tally, pause, endMs, requestsMax, backlogMax } = parts;
  const sender = createSender(parts);
  const idle: Connection[] = [...parts.connections].reverse();
  /** A ring: shift() of a long array would cost its length. */
  let backlog: Planned[] = [];
  let backlogAt = 0;
  let planned = 0;
  let startMs = 0;
  let nextMs = 0;
  let end: LoopEnd | null = null;
  let isOver = false;
  let resolve: (end: LoopEnd) => void = () => {};

  const waiting = () => backlog.length - backlogAt;

  function shift(): Planned | undefined {
    const first = backlog[backlogAt];
    if (first !== undefined && ++backlogAt * 2 > backlog.length) {
      backlog = backlog.slice(backlogAt);
      backlogAt = 0;
    }
    return first;
  }

  function settle(): void {
    if (end === null || isOver || waiting() > 0 || sender.inFlight > 0) return;
    isOver = true;
    resolve(end);
  }

  function cut(): void {
    giveUpWaiting();
    sender.cutAll();
    settle();
  }

  function finish(why: LoopEnd, graceMs: number): void {
    end ??= why;
    clock.after(graceMs, cut);
  }

  function send(connection: Connection, request: Planned): void {
    sender.send(connection, request, () => free(connection));
  }

  function free(connection: Connection): void {
    if (isOver) return;
    if (pause.leftMs(clock.monotonic()) > 0) holdBack();
    const next = shift();
    if (next !== undefined) send(connection, next);
    else {
      idle.push(connection);
      settle();
    }
  }

  function holdBack(): void {
    for (let request = shift(); request !== undefined; request = shift()) tally.heldBack(request);
  }

  function place(intendedMs: number, nowMs: number): void {
    planned += 1;
    const request = sender.plan(intendedMs, startMs);
    if (pause.leftMs(nowMs) > 0) {
      tally.heldBack(request);
      return;
    }
    const connection = idle.pop();
    if (connection !== undefined) {
      tally.lag.record((nowMs - intendedMs) * 1_000);
      send(connection, request);
    } else if (waiting() < backlogMax) backlog.push(request);
    else tally.unsent(request);
  }

  function pump(): void {
    while (end === null) {
      const nowMs = clock.monotonic();
      if (nextMs - startMs >= endMs) finish("duration", parts.graceMs);
      else if (planned >= requestsMax) finish("requests", parts.graceMs);
      else if (nextMs > nowMs) {
        clock.after(nextMs - nowMs, pump);
        return;
      } else {
        place(nextMs, nowMs);
        nextMs = startMs + parts.arrivals();
      }
    }
    settle();
  }

  function giveUpWaiting(): void {
    for (let request = shift(); request !== undefined; request = shift()) tally.unsent(request);
  }

  return {
    run() {
      if (end !== null) return Promise.resolve(end);
      startMs = clock.monotonic();
      nextMs = startMs + parts.arrivals();
      return new Promise((done) => {
        resolve = done;
        pump();
      });
    },
    stop(graceMs) {
      finish("stopped", graceMs);
      giveUpWaiting();
      settle();
    },
    get inFlight() {
      return sender.inFlight;
    },
    get waiting() {
      return waiting();
    },
  };
}
