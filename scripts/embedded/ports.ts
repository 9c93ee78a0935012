import { createServer } from "node:net";

const ATTEMPTS = 5;

/** Thrown by an attempt whose port was taken between choosing and binding it. */
export class PortTakenError extends Error {
  override name = "PortTakenError";
}

/** True when a server can listen on `port` of 127.0.0.1 now. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** A TCP port of 127.0.0.1 on which no process listens at this moment. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new Error("no free port on 127.0.0.1");
  return port;
}

function listenOnce(wanted: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(wanted, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : null;
      server.close(() => resolve(port));
    });
  });
}

/**
 * Runs `attempt` with a free port, and again with another one while it throws `PortTakenError`, at most five times.
 * @param only tries this port alone; also several times, since its previous owner may still be exiting
 */
export async function withFreePort<T>(attempt: (port: number) => Promise<T>, only?: number): Promise<T> {
  for (let left = ATTEMPTS - 1; ; left--) {
    try {
      return await attempt(only ?? (await freePort()));
    } catch (error) {
      if (!(error instanceof PortTakenError) || left === 0) throw error;
    }
  }
}
