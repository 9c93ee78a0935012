import { createServer, type Server } from "node:net";

const ATTEMPTS = 50;
/** Below the ports that systems give to outgoing connections (32768 and up on Linux). */
const FIRST = 20_000;
const COUNT = 10_000;

/** A server listening there, or null when something else does. */
function hold(ip: string, port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, ip, () => resolve(server));
  });
}

/** Finds a TCP port that is free at all of the addresses, because the service has one SMTP_PORT for all. */
export async function commonFreePort(addresses: readonly string[]): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const held = await Promise.all(addresses.map((ip) => hold(ip, port)));
    await Promise.all(
      held.map(
        (server) => new Promise<void>((done) => (server === null ? done() : server.close(() => done()))),
      ),
    );
    if (!held.includes(null)) return port;
  }
  throw new Error(`no port is free on all of ${addresses.join(", ")}`);
}
