import type { Connection } from "./outcome.ts";
import { createSender, type Loop, type LoopEnd, LoopEnding, type LoopParts, type Sender } from "./sender.ts";
import type { Planned } from "./tally.ts";

export interface OpenLoopParts extends LoopParts {
  /** Times of requests from the start, ascending, milliseconds. */
  arrivals(): number;
  /** Requests that may wait for a connection. */
  backlogMax: number;
}

/** Requests that wait, the oldest first. A ring: shift() of a long array would cost its length. */
class Backlog {
  #requests: Planned[] = [];
  #at = 0;

  get size(): number {
    return this.#requests.length - this.#at;
  }

  push(request: Planned): void {
    this.#requests.push(request);
  }

  shift(): Planned | undefined {
    const first = this.#requests[this.#at];
    if (first !== undefined && ++this.#at * 2 > this.#requests.length) {
      this.#requests = this.#requests.slice(this.#at);
      this.#at = 0;
    }
    return first;
  }

  empty(each: (request: Planned) => void): void {
    for (let request = this.shift(); request !== undefined; request = this.shift()) each(request);
  }
}

/**
 * Requests fall due at fixed times, whatever happens to earlier ones, as from independent callers. A request without a
 * free connection waits for one, and its latency counts from the time it was due. So a server that stalls cannot reduce
 * the load and look better than it is ("coordinated omission").
 */
class OpenLoop implements Loop {
  readonly #parts: OpenLoopParts;
  readonly #sender: Sender;
  readonly #idle: Connection[];
  readonly #backlog = new Backlog();
  readonly #ending: LoopEnding;
  #planned = 0;
  #startMs = 0;
  /** When the next request is due, counted from the start: added to a clock it would be rounded. */
  #nextAfterMs = 0;

  constructor(parts: OpenLoopParts) {
    this.#parts = parts;
    this.#sender = createSender(parts);
    this.#idle = [...parts.connections].reverse();
    this.#ending = new LoopEnding(
      parts.clock,
      () => this.#backlog.size === 0 && this.#sender.inFlight === 0,
      () => {
        this.#giveUpWaiting();
        this.#sender.cutAll();
      },
    );
  }

  run(): Promise<LoopEnd> {
    return this.#ending.after(() => {
      this.#startMs = this.#parts.clock.monotonic();
      this.#nextAfterMs = this.#parts.arrivals();
      this.#pump();
    });
  }

  stop(graceMs: number): void {
    this.#ending.finish("stopped", graceMs);
    this.#giveUpWaiting();
    this.#ending.settle();
  }

  get inFlight(): number {
    return this.#sender.inFlight;
  }

  get waiting(): number {
    return this.#backlog.size;
  }

  #giveUpWaiting(): void {
    this.#backlog.empty((request) => this.#parts.tally.unsent(request));
  }

  #send(connection: Connection, request: Planned): void {
    this.#sender.send(connection, request, () => this.#free(connection));
  }

  #free(connection: Connection): void {
    if (this.#ending.isOver) return;
    const { clock, pause, tally } = this.#parts;
    if (pause.leftMs(clock.monotonic()) > 0) this.#backlog.empty((request) => tally.heldBack(request));
    const next = this.#backlog.shift();
    if (next !== undefined) this.#send(connection, next);
    else {
      this.#idle.push(connection);
      this.#ending.settle();
    }
  }

  #place(intendedMs: number, nowMs: number): void {
    const { pause, tally, backlogMax } = this.#parts;
    this.#planned += 1;
    const request = this.#sender.plan(intendedMs, this.#startMs);
    if (pause.leftMs(nowMs) > 0) {
      tally.heldBack(request);
      return;
    }
    const connection = this.#idle.pop();
    if (connection !== undefined) {
      tally.lag.record((nowMs - intendedMs) * 1_000);
      this.#send(connection, request);
    } else if (this.#backlog.size < backlogMax) this.#backlog.push(request);
    else tally.unsent(request);
  }

  #pump(): void {
    const { clock, endMs, requestsMax, graceMs, arrivals } = this.#parts;
    while (this.#ending.why === null) {
      const nowMs = clock.monotonic();
      const nextMs = this.#startMs + this.#nextAfterMs;
      if (this.#nextAfterMs >= endMs) this.#ending.finish("duration", graceMs);
      else if (this.#planned >= requestsMax) this.#ending.finish("requests", graceMs);
      else if (nextMs > nowMs) {
        clock.after(nextMs - nowMs, () => this.#pump());
        return;
      } else {
        this.#place(nextMs, nowMs);
        this.#nextAfterMs = arrivals();
      }
    }
    this.#ending.settle();
  }
}

export const createOpenLoop = (parts: OpenLoopParts): Loop => new OpenLoop(parts);
