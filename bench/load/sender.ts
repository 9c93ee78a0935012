import type { Clock } from "../../src/platform/time/clock.ts";
import { LIMITS } from "./bounds.ts";
import type { Connection } from "./outcome.ts";
import type { Pause } from "./pause.ts";
import type { Planned, Sent, Tally } from "./tally.ts";
import type { Traffic } from "./traffic.ts";

/** Parts that open and closed loop share. */
export interface LoopParts {
  clock: Clock;
  connections: readonly Connection[];
  traffic: Traffic;
  tally: Tally;
  pause: Pause;
  warmUpMs: number;
  /** Milliseconds from the start, warm-up included. Requests due later are not sent. */
  endMs: number;
  /** Warm-up included. */
  requestsMax: number;
  /** Time after the end for requests that are in flight or wait for a connection; then they are cut. */
  graceMs: number;
}

/** Why a loop sends no more. */
export type LoopEnd = "duration" | "requests" | "stopped";

export interface Loop {
  /** Starts. Resolves when everything has been sent and nothing is in flight. */
  run(): Promise<LoopEnd>;
  /** Sends no more; requests in flight are cut after `graceMs`. May be called again with less. */
  stop(graceMs: number): void;
  readonly inFlight: number;
  /** Requests that are due and wait for a connection. */
  readonly waiting: number;
}

/** Plans requests and sends them. */
export interface Sender {
  /** @param intendedMs monotonic; @param startMs of the run */
  plan(intendedMs: number, startMs: number): Planned;
  /**
   * @param done called when the connection may be used again: at once, except for one that could not be opened, which
   * would fail again at once
   */
  send(connection: Connection, planned: Planned, done: () => void): void;
  /** Counts all requests in flight as cut. */
  cutAll(): void;
  readonly inFlight: number;
}

export function createSender({ clock, traffic, tally, pause, warmUpMs }: LoopParts): Sender {
  const inFlight = new Set<Sent>();
  return {
    plan(intendedMs, startMs) {
      const planned = { ...traffic.next(), intendedMs, isWarmUp: intendedMs - startMs < warmUpMs };
      tally.planned(planned);
      return planned;
    },
    send(connection, planned, done) {
      const request: Sent = { ...planned, sentMs: clock.monotonic() };
      inFlight.add(request);
      tally.sent(request);
      connection.send(request.path, (outcome) => {
        // One that was cut is counted already.
        if (!inFlight.delete(request)) return;
        const nowMs = clock.monotonic();
        tally.ended(request, outcome, nowMs);
        pause.note(outcome, nowMs);
        if (outcome.kind === "failure" && outcome.cause === "connect") clock.after(LIMITS.reconnectMs, done);
        else done();
      });
    },
    cutAll() {
      for (const request of inFlight) tally.cut(request);
      inFlight.clear();
    },
    get inFlight() {
      return inFlight.size;
    },
  };
}

/**
 * The end of a loop: once nothing more is to be sent, waits for requests in flight, and cuts them when they take too
 * long.
 */
export class LoopEnding {
  readonly #clock: Clock;
  /** Whether no request is in flight or waiting. */
  readonly #isIdle: () => boolean;
  readonly #cut: () => void;
  #resolve: (end: LoopEnd) => void = () => {};
  /** null: the loop goes on. */
  why: LoopEnd | null = null;
  isOver = false;

  constructor(clock: Clock, isIdle: () => boolean, cut: () => void) {
    this.#clock = clock;
    this.#isIdle = isIdle;
    this.#cut = cut;
  }

  /** @returns why the loop ended, once it has: at once where it was stopped before it began */
  after(begin: () => void): Promise<LoopEnd> {
    if (this.why !== null) return Promise.resolve(this.why);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      begin();
    });
  }

  settle(): void {
    if (this.why === null || this.isOver || !this.#isIdle()) return;
    this.isOver = true;
    this.#resolve(this.why);
  }

  finish(why: LoopEnd, graceMs: number): void {
    this.why ??= why;
    this.#clock.after(graceMs, () => {
      this.#cut();
      this.settle();
    });
  }
}
