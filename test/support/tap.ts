import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One connection through the tap. */
export interface TappedConnection {
  /** Bytes that the connecting side sent, up to the first 64 KiB; latin1. */
  sent: string;
  /** The side that closed first; null while the connection is open. */
  closedBy: "client" | "server" | null;
}

/** A proxy on 127.0.0.1 that records the bytes that pass. */
export interface Tap {
  port: number;
  connections: TappedConnection[];
  close(): Promise<void>;
}

const KEPT_CHARS = 65_536;

export async function startTap(serverPort: number): Promise<Tap> {
  const connections: TappedConnection[] = [];
  const sockets = new Set<Socket>();
  const tap = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: serverPort, host: "127.0.0.1", allowHalfOpen: true });
    const connection: TappedConnection = { sent: "", closedBy: null };
    connections.push(connection);
    const pass = (from: Socket, to: Socket, side: "client" | "server") => {
      const closed = () => {
        connection.closedBy ??= side;
      };
      sockets.add(from);
      from.setNoDelay(true);
      from.on("end", closed);
      from.on("error", closed);
      from.on("close", () => {
        closed();
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    };
    client.on("data", (bytes) => {
      if (connection.sent.length < KEPT_CHARS) connection.sent += bytes.toString("latin1");
    });
    pass(client, server, "client");
    pass(server, client, "server");
  });
  tap.listen(0, "127.0.0.1");
  await once(tap, "listening");
  return {
    port: (tap.address() as AddressInfo).port,
    connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      tap.close();
      await once(tap, "close");
    },
  };
}
