import { runEndOfTickNow } from "../../platform/time/ticks.ts";

/**
 * libuv asks for 1 024 events at a time, and where it gets as many it asks again, up to 47 times, before it goes on. With more
 * connections than that which all have something to say, timers and whatever waits for the end of a turn waited for 0.75 s (4 000
 * connections, 70 000 requests a second: an answer took 1.8 s instead of 0.2). It goes on behind the events in hand where a signal
 * has come: hence the one that Go's runtime sends itself for the like, since nobody means anything by it. On Node.js 24 it is as before:
 * with 4 000 connections a turn read at most 17 000 to 19 000 requests without the signal, 4 000 to 5 000 with it (three runs of each).
 */
export const INTERRUPT = "SIGURG";

/** Requests between two looks at how long the turn is: some ms. */
const CHECK_EVERY_REQUESTS = 512;

let isListening = false;

/** By default the signal does nothing at all: who wants libuv to see it has to listen to it. */
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
