import type { Connection } from "./outcome.ts";
import { levelAt, type Profile } from "./schedule.ts";
import { createSender, type Loop, type LoopEnd, type LoopParts } from "./sender.ts";

export interface ClosedLoopParts extends LoopParts {
  /** How many of the connections are at work, over time. */
  profile: Profile;
}

/** How often connections that rest are looked at: whether it is their turn. */
const LOOK_MS = 20;

/**
 * Each connection asks again as soon as it is answered: as many callers as there are connections, who wait for their
 * answers. Finds out how much a server can do; says little of how long callers wait who do not wait for each other.
 */
export function createClosedLoop(parts: ClosedLoopParts): Loop {
  const { clock, pause, endMs, requestsMax, profile, connections } = parts;
  const sender = createSender(parts);
  const resting = new Set<number>(connections.keys());
  let sent = 0;
  let startMs = 0;
  let end: LoopEnd | null = null;
  let isOver = false;
  let resolve: (end: LoopEnd) => void = () => {};

  function settle(): void {
    if (end === null || isOver || sender.inFlight > 0) return;
    isOver = true;
    resolve(end);
  }

  function finish(why: LoopEnd, graceMs: number): void {
    end ??= why;
    clock.after(graceMs, () => {
      sender.cutAll();
      settle();
    });
  }

  /** Also where every connection waits for an answer. */
  function noteEnd(nowMs: number): void {
    if (end !== null) return;
    if (nowMs - startMs >= endMs) finish("duration", parts.graceMs);
    else if (sent >= requestsMax) finish("requests", parts.graceMs);
  }

  function mayAsk(place: number, nowMs: number): boolean {
    noteEnd(nowMs);
    return end === null && place < Math.ceil(levelAt(profile, nowMs - startMs)) && pause.leftMs(nowMs) === 0;
  }

  function turn(place: number, connection: Connection): void {
    const nowMs = clock.monotonic();
    if (!mayAsk(place, nowMs)) {
      resting.add(place);
      settle();
      return;
    }
    sent += 1;
    sender.send(connection, sender.plan(nowMs, startMs), () => turn(place, connection));
  }

  function look(): void {
    noteEnd(clock.monotonic());
    for (const place of [...resting]) {
      const connection = connections[place];
      if (connection === undefined || !mayAsk(place, clock.monotonic())) continue;
      resting.delete(place);
      turn(place, connection);
    }
    if (end === null) clock.after(LOOK_MS, look);
    else settle();
  }

  return {
    run() {
      if (end !== null) return Promise.resolve(end);
      startMs = clock.monotonic();
      return new Promise((done) => {
        resolve = done;
        look();
      });
    },
    stop(graceMs) {
      finish("stopped", graceMs);
      settle();
    },
    get inFlight() {
      return sender.inFlight;
    },
    get waiting() {
      return 0;
    },
  };
}
