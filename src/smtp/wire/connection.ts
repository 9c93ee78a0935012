import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { ProxyConfig } from "../../config/config.ts";
import type { FailureCause } from "./outcome.ts";
import { openTunnel, type Tunnel } from "./proxy.ts";

/** Why a connection ended. */
export interface Closure {
  cause: Extract<FailureCause, "closed" | "refused" | "unreachable" | "timeout" | "proxy" | "tls">;
  detail: string;
}

export interface ConnectionTarget {
  /** Host name of the exchanger, for SNI. */
  host: string;
  address: string;
  port: number;
  /** Source address; null lets the system choose. */
  localAddress: string | null;
  /** The SOCKS5 proxy to connect through; null: none. */
  proxy: ProxyConfig | null;
}

export interface ConnectionHandler {
  onConnect(): void;
  /** Receives the first `bytes` of `chunk`. The chunk is only valid during the call. */
  onData(chunk: Buffer, bytes: number): void;
  onSecure(): void;
  /** Called once at the end, whichever side closed. Not called after `destroy`. */
  onClose(closure: Closure): void;
}

/** One TCP connection that can upgrade to TLS. It carries bytes and knows no SMTP. */
export interface Connection {
  /** Not connected yet, and waiting for the proxy rather than the target. */
  readonly isAwaitingProxy: boolean;
  write(text: string, encoding: "latin1" | "utf8"): void;
  startTls(): void;
  /** Half-closes after pending writes; the peer's close, or `destroy`, ends the connection. */
  end(): void;
  destroy(): void;
}

const READ_BUFFER_BYTES = 4_096;

const CAUSES: Readonly<Record<string, Closure["cause"]>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "closed",
  EPIPE: "closed",
  ETIMEDOUT: "timeout",
};

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message.slice(0, 80);
}

class SocketConnection implements Connection {
  readonly #handler: ConnectionHandler;
  readonly #target: ConnectionTarget;
  readonly #socket: Socket;
  readonly #tunnel: Tunnel | null = null;
  #tls: TLSSocket | null = null;
  #secured = false;
  #connected = false;
  #over = false;

  constructor(target: ConnectionTarget, handler: ConnectionHandler) {
    this.#handler = handler;
    this.#target = target;
    if (target.proxy === null) {
      this.#socket = this.#dial(target);
      this.#watch(this.#socket);
    } else {
      this.#tunnel = this.#open(target.proxy);
      this.#socket = this.#tunnel.socket;
    }
  }

  get isAwaitingProxy(): boolean {
    return this.#tunnel !== null && !this.#connected && !this.#tunnel.isTargetRequested;
  }

  #dial({ address, port, localAddress }: ConnectionTarget): Socket {
    const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
    const socket = connect({
      host: address,
      port,
      ...(localAddress === null ? {} : { localAddress }),
      noDelay: true,
      onread: {
        buffer,
        callback: (bytes) => {
          // Pass the whole buffer: a view would be one object for each read, the most expensive one there is.
          if (!this.#over) this.#handler.onData(buffer, bytes);
          return true;
        },
      },
    });
    socket.on("connect", () => this.#becomeConnected());
    return socket;
  }

  #open(proxy: ProxyConfig): Tunnel {
    return openTunnel(proxy, this.#target, {
      onOpen: () => {
        this.#watch(this.#socket);
        this.#socket.on("data", (chunk: Buffer) => {
          if (!this.#over) this.#handler.onData(chunk, chunk.length);
        });
        this.#becomeConnected();
      },
      onFailed: (failure) => this.#finish(failure),
    });
  }

  #becomeConnected(): void {
    this.#connected = true;
    if (!this.#over) this.#handler.onConnect();
  }

  write(text: string, encoding: "latin1" | "utf8"): void {
    if (!this.#over) (this.#tls ?? this.#socket).write(text, encoding);
  }

  /** Does not verify the certificate: opportunistic TLS (RFC 7435) only protects against passive listeners. */
  startTls(): void {
    // From here on TLS reads the bytes. A direct connection has no such listener.
    this.#socket.removeAllListeners("data");
    try {
      const tls = connectTls({
        socket: this.#socket,
        rejectUnauthorized: false,
        ...(isIP(this.#target.host) === 0 ? { servername: this.#target.host } : {}),
      });
      this.#tls = tls;
      tls.on("secureConnect", () => {
        this.#secured = true;
        if (!this.#over) this.#handler.onSecure();
      });
      tls.on("data", (chunk: Buffer) => {
        if (!this.#over) this.#handler.onData(chunk, chunk.length);
      });
      this.#watch(tls);
    } catch (error) {
      this.#finish({ cause: "tls", detail: codeOf(error as NodeJS.ErrnoException) });
    }
  }

  end(): void {
    if (!this.#over) (this.#tls ?? this.#socket).end();
  }

  destroy(): void {
    this.#over = true;
    this.#tls?.destroy();
    this.#socket.destroy();
  }

  #watch(socket: Socket): void {
    // Once TLS is on top, events of the plain socket come too early: its last bytes may be unread.
    const current = () => socket === (this.#tls ?? this.#socket);
    socket.on("error", (error: NodeJS.ErrnoException) => current() && this.#finish(this.#closureOf(error)));
    socket.on("end", () => current() && this.#finish(this.#closed()));
    socket.on("close", () => current() && this.#finish(this.#closed()));
  }

  #closureOf(error: NodeJS.ErrnoException): Closure {
    const detail = codeOf(error);
    if (this.#tls && !this.#secured) return { cause: "tls", detail };
    const cause = CAUSES[error.code ?? ""] ?? (this.#connected ? "closed" : "unreachable");
    return { cause, detail };
  }

  #closed(): Closure {
    if (this.#tls && !this.#secured) return { cause: "tls", detail: "closed during the handshake" };
    return { cause: "closed", detail: "closed by the peer" };
  }

  #finish(closure: Closure): void {
    if (this.#over) return;
    this.destroy();
    this.#handler.onClose(closure);
  }
}

/** Dials at once. Every outcome arrives through `handler`, never before this returns. */
export function createConnection(target: ConnectionTarget, handler: ConnectionHandler): Connection {
  return new SocketConnection(target, handler);
}
