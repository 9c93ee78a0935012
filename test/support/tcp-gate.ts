import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy that can be shut, so that its target looks down to clients of the proxy. */
export interface TcpGate {
  port: number;
  /** Cuts every connection and refuses new ones. */
  shut(): void;
  /** Leaves connections open but forwards nothing any more. */
  stall(): void;
  /** Stalls at the first bytes from a client that contain this text, which are not forwarded; resolves then. */
  stallAt(text: string): Promise<void>;
  /** Forwards again; connections that stalled are cut. */
  open(): void;
  close(): Promise<void>;
}

/** @param targetUrl URL whose host and port connections are forwarded to */
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
