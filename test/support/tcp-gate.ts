import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

/** A way to a server that can be shut: what stands behind it looks down to whoever dials the gate. */
export interface TcpGate {
  port: number;
  /** Cuts every connection and refuses new ones. */
  shut(): void;
  /** Keeps connections but lets nothing through any more. */
  stall(): void;
  /** Stalls as soon as a client sends bytes with this text, which are the first that do not come through; resolves then. */
  stallAt(text: string): Promise<void>;
  /** Lets through again; connections that stalled are cut. */
  open(): void;
  close(): Promise<void>;
}

/** @param targetUrl of the server to forward to; its host and port count. */
export async function createTcpGate(targetUrl: string): Promise<TcpGate> {
  const target = new URL(targetUrl);
  const pairs = new Set<Socket>();
  let state: "open" | "shut" | "stalled" = "open";
  let trap: { text: string; sprung: () => void } | null = null;
  const server = createServer((socket) => {
    pairs.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => pairs.delete(socket));
    if (state === "shut") return void socket.destroy();
    if (state === "stalled") return;
    const upstream = connect(Number(target.port), target.hostname);
    upstream.setNoDelay(true);
    socket.setNoDelay(true);
    upstream.on("error", () => socket.destroy());
    upstream.on("close", () => socket.destroy());
    socket.on("close", () => upstream.destroy());
    socket.on("data", (bytes) => {
      if (trap !== null && bytes.includes(trap.text)) {
        state = "stalled";
        trap.sprung();
      }
      if (state === "open") upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (state === "open") socket.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  function cutAll(): void {
    for (const socket of pairs) socket.destroy();
  }

  return {
    port: (server.address() as AddressInfo).port,
    shut() {
      state = "shut";
      cutAll();
    },
    stall() {
      state = "stalled";
    },
    stallAt(text) {
      return new Promise((sprung) => {
        trap = { text, sprung };
      });
    },
    open() {
      if (state === "stalled") cutAll();
      trap = null;
      state = "open";
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}

/** The URL with its host and port replaced by those of the gate. */
export function throughGate(url: string, gate: TcpGate): string {
  const gated = new URL(url);
  gated.hostname = "127.0.0.1";
  gated.port = String(gate.port);
  return gated.href;
}
