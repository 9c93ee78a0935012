import type { Connection } from "./outcome.ts";
import { levelAt, type Profile } from "./schedule.ts";
import { createSender, type Loop, LoopEnding, type LoopParts } from "./sender.ts";

export interface ClosedLoopParts extends LoopParts {
  /** Number of active connections over time. */
  profile: Profile;
}

/** Interval at which idle connections check whether the profile needs them. */
const LOOK_MS = 20;

/**
 * Each connection sends the next request as soon as it is answered: as many callers as connections, each waiting for
 * its answers. Measures the throughput of a server; it says little about the latency of independent callers.
 */
export function createClosedLoop(parts: ClosedLoopParts): Loop {
  const { clock, pause, endMs, requestsMax, profile, connections } = parts;
  const sender = createSender(parts);
  const resting = new Set<number>(connections.keys());
  let sent = 0;
  let startMs = 0;
  const ending = new LoopEnding(clock, () => sender.inFlight === 0, sender.cutAll);

  /** Also where every connection waits for an answer. */
  function noteEnd(nowMs: number): void {
    if (ending.why !== null) return;
    if (nowMs - startMs >= endMs) ending.finish("duration", parts.graceMs);
    else if (sent >= requestsMax) ending.finish("requests", parts.graceMs);
  }

  function mayAsk(place: number, nowMs: number): boolean {
    noteEnd(nowMs);
    return (
      ending.why === null && place < Math.ceil(levelAt(profile, nowMs - startMs)) && pause.leftMs(nowMs) === 0
    );
  }

  function turn(place: number, connection: Connection): void {
    const nowMs = clock.monotonic();
    if (!mayAsk(place, nowMs)) {
      resting.add(place);
      ending.settle();
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
    if (ending.why === null) clock.after(LOOK_MS, look);
    else ending.settle();
  }

  return {
    run: () =>
      ending.after(() => {
        startMs = clock.monotonic();
        look();
      }),
    stop(graceMs) {
      ending.finish("stopped", graceMs);
      ending.settle();
    },
    get inFlight() {
      return sender.inFlight;
    },
    get waiting() {
      return 0;
    },
  };
}
