import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

/** A proxy that serves the service below a path of its host, for a deployment that shares its host. */
export interface PathProxy {
  /** Its URL with the path, without a trailing slash. */
  url: string;
  /** Forwards requests to this URL from now on. */
  forwardTo(url: string): void;
  close(): Promise<void>;
}

export async function createPathProxy(path: string): Promise<PathProxy> {
  let target: URL | null = null;
  const server = createServer((incoming, outgoing) => {
    const isBelow = incoming.url?.startsWith(path) === true;
    if (target === null || !isBelow) {
      outgoing.writeHead(404).end();
      return;
    }
    const forwarded = request(
      {
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url?.slice(path.length) || "/",
        headers: { ...incoming.headers, "x-forwarded-for": incoming.socket.remoteAddress ?? "" },
      },
      (answer) => {
        // The browser has left; Node.js 24 throws where it is written to.
        if (outgoing.destroyed) return void answer.destroy();
        outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        // A service that is killed breaks its answers off.
        pipeline(answer, outgoing, () => undefined);
      },
    );
    forwarded.on("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    forwardTo(url) {
      target = new URL(url);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
