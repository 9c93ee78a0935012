import { once } from "node:events";
import { createConnection } from "node:net";

/** How long writes take until they are answered, milliseconds, on average over the time between start and `end`. */
export interface RoundTrips {
  /** Ends it. @throws Error when nothing was measured */
  end(): Promise<number>;
}

/**
 * Asks a server all the while, one question after another, as a client does that does nothing else: what the formula is told of
 * the way there. On a machine that others use as well a sink's answer is later than its delay, and for every client alike.
 */
export function measureRoundTrips(address: string, port: number): RoundTrips {
  const socket = createConnection({ host: address, port, noDelay: true });
  let asked = 0;
  let spentMs = 0;
  let ended = false;
  async function ask(): Promise<void> {
    // Its greeting.
    await once(socket, "data");
    while (!ended) {
      const startedMs = performance.now();
      socket.write("NOOP\r\n");
      await once(socket, "data");
      asked += 1;
      spentMs += performance.now() - startedMs;
    }
  }
  const asking = ask().catch((error: unknown) => error);
  return {
    async end() {
      ended = true;
      const failure = await asking;
      socket.destroy();
      if (failure !== undefined) throw failure;
      if (asked === 0) throw new Error("no round trip was measured");
      return spentMs / asked;
    },
  };
}
