import { runEndOfTickNow } from "../../platform/time/ticks.ts";

/**
 * libuv fetches 1 024 events at a time. If it gets that many it fetches again, up to 47 times, before it continues. With
 * more busy connections than that, timers and end-of-tick callbacks waited for 0.75 s (4 000 connections, 70 000 requests a
 * second: an answer took 1.8 s instead of 0.2).
 *
 * A pending signal makes libuv continue after the current events. SIGURG is the signal that Go's runtime sends itself for
 * the same purpose, since no program uses it for anything else.
 *
 * On Node.js 24 this still holds: with 4 000 connections a tick read at most 17 000 to 19 000 requests without the signal,
 * 4 000 to 5 000 with it (three runs of each).
 */
export const INTERRUPT = "SIGURG";

/** Requests between two looks at how long the turn is: some ms. */
const CHECK_EVERY_REQUESTS = 512;

let isListening = false;

/** By default the signal is ignored: libuv notices it only if it has a listener. */
function interrupt(): void {
  if (!isListening) process.on(INTERRUPT, () => {});
  isListening = true;
  process.kill(process.pid, INTERRUPT);
}

export interface LongTicksDeps {
  /** Sends this process the signal, which makes libuv go on. */
  interrupt(): void;
  afterTick(callback: () => void): void;
  /** See platform/time/ticks.ts. */
  endTickNow(): void;
}

const PROCESS: LongTicksDeps = {
  interrupt,
  afterTick: (callback) => void setImmediate(callback),
  endTickNow: runEndOfTickNow,
};

/** Ends turns of the event loop that go on and on, each with the requests that are there to be read. */
export interface LongTicks {
  /** A request was read. */
  onRequestRead(): void;
}

export function createLongTicks({
  interrupt,
  afterTick: afterTurn,
  endTickNow: endTurnNow,
}: LongTicksDeps = PROCESS): LongTicks {
  let count = 0;
  let isSameTurn = false;
  const turned = () => {
    isSameTurn = false;
  };
  return {
    onRequestRead() {
      count += 1;
      if (count < CHECK_EVERY_REQUESTS) return;
      count = 0;
      endTurnNow();
      if (isSameTurn) {
        interrupt();
        return;
      }
      isSameTurn = true;
      afterTurn(turned);
    },
  };
}
