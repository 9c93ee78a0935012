import { once } from "node:events";
import { createConnection } from "node:net";

/** Mean time in milliseconds until a write is answered, between the start and `end`. */
export interface RoundTrips {
  /** Ends it. @throws Error when nothing was measured */
  end(): Promise<number>;
}

/**
 * Measures a server's round trip, which the formula needs, by one command after another from an otherwise idle client.
 * On a machine under other load a sink answers later than its delay, to all clients.
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
