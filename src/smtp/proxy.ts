import { createRequire } from "node:module";
import { connect, type Socket } from "node:net";
import type { SocksClient } from "socks";
import type { ProxyConfig } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import { createProxyLookup } from "./proxy-name.ts";

/** Why no connection came about. Names neither the proxy's address nor its credentials: it may be shown to anybody. */
export interface TunnelFailure {
  /** `proxy`: the proxy did not do its part; else how the target ended, as a direct dial would. */
  cause: "proxy" | "refused" | "unreachable" | "timeout";
  detail: string;
}

export interface TunnelHandler {
  /** The target took the connection. Whoever reads its bytes must listen for `data` before this returns. */
  onOpen(): void;
  /** Once, instead of `onOpen`; also when the socket was destroyed by whoever opened it. */
  onFailed(failure: TunnelFailure): void;
}

/** A connection through a SOCKS5 proxy (RFC 1928). */
export interface Tunnel {
  /** To be ended by whoever opened it; carries the target's bytes once it is open. */
  readonly socket: Socket;
  /** The proxy has let us in and is to connect: from now on it is the target that one waits for. */
  readonly asked: boolean;
}

/**
 * What a proxy says of the target (RFC 1928 §6), as `socks` names it. Dante and others answer TTLExpired when a
 * connection timed out. An address type that a proxy does not know is like a family that a host has no address of.
 */
const TARGET_FAILURES: Readonly<Record<string, TunnelFailure["cause"]>> = {
  NetworkUnreachable: "unreachable",
  HostUnreachable: "unreachable",
  ConnectionRefused: "refused",
  TTLExpired: "timeout",
  AddressNotSupported: "unreachable",
};

/** `socks` tells a reply by the end of its message alone. */
const REJECTED = / rejected connection - (\w+)$/;

function failureOf(message: string): TunnelFailure {
  const reply = REJECTED.exec(message)?.[1];
  if (reply !== undefined) {
    const name = reply === "undefined" ? "no reply of SOCKS5" : reply;
    return { cause: TARGET_FAILURES[reply] ?? "proxy", detail: `proxy: ${name}` };
  }
  const refused = /[Aa]uthentication/.test(message);
  return { cause: "proxy", detail: refused ? "proxy: not let in" : "proxy: broken dialogue" };
}

/** Whether the first octets of a proxy's side show that it asks for no more before it connects. */
class Admission {
  readonly #heard: number[] = [];

  read(chunk: Buffer): void {
    for (const octet of chunk.subarray(0, 4 - this.#heard.length)) this.#heard.push(octet);
  }

  /** Method 0 needs none; method 2 is followed by a version and 0 for success (RFC 1929 §2). */
  get granted(): boolean {
    const [, method, , status] = this.#heard;
    return method === 0 || (method === 2 && status === 0);
  }
}

/** Where no proxy is configured, `socks` is never loaded: 50 ms of the start of each thread. */
const load = createRequire(import.meta.url);

function clientFor(proxy: ProxyConfig, target: { address: string; port: number }): SocksClient {
  const { host, port, credentials } = proxy;
  const login = credentials === null ? {} : { userId: credentials.username, password: credentials.password };
  const { SocksClient } = load("socks") as typeof import("socks");
  return new SocksClient({
    proxy: { host, port, type: 5, ...login },
    command: "connect",
    destination: { host: target.address, port: target.port },
    // Whoever opens a tunnel has a deadline of his own, which began earlier; this one only clears away what he left.
    timeout: LIMITS.smtp.connectTimeoutMs,
  });
}

const ignore = () => {};

/**
 * `socks` never clears its timer, which holds the client, and so its buffers, the socket and all that listens, long
 * after the tunnel is open or gone. Takes them from it, once it is done with them.
 */
function release(client: SocksClient): void {
  client.removeAllListeners();
  client.on("error", ignore);
  Object.assign(client, { socket: null, receiveBuffer: null, onDataReceived: null });
  Object.assign(client, { onClose: null, onError: null, onConnect: null });
}

const proxyLookup = createProxyLookup();

/**
 * Dials `target` through `proxy`; what becomes of it arrives by `handler`, never before this returns. It has no deadline:
 * who gives up destroys the socket, and `asked` tells whom he waited for. Nothing that `socks` throws gets out of here,
 * since its errors carry the credentials.
 */
export function openTunnel(
  proxy: ProxyConfig,
  target: { address: string; port: number },
  handler: TunnelHandler,
): Tunnel {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, lookup: proxyLookup });
  const client = clientFor(proxy, target);
  const admission = new Admission();
  const watch = (chunk: Buffer) => admission.read(chunk);
  const onError = (error: NodeJS.ErrnoException) =>
    fail({ cause: "proxy", detail: `proxy: ${error.code ?? "error"}` });
  const onClose = () => fail({ cause: "proxy", detail: "proxy: closed" });
  let over = false;

  function conclude(): void {
    over = true;
    socket.off("data", watch);
    socket.off("close", onClose);
    // It hears of the same event after us, and hands on what came with the reply in an immediate of its own.
    setImmediate(release, client);
  }

  function fail(failure: TunnelFailure): void {
    if (over) return;
    conclude();
    handler.onFailed(failure);
  }

  socket.on("error", onError);
  socket.on("close", onClose);
  socket.once("connect", () => {
    socket.on("data", watch);
    client.connect(socket);
  });
  client.on("error", (error) => fail(failureOf(error.message)));
  client.once("established", ({ remoteHost }) => {
    if (over) return;
    // An address of no known type was not read: what follows cannot be told from the server's first words.
    if (remoteHost === undefined) return fail({ cause: "proxy", detail: "proxy: broken dialogue" });
    conclude();
    handler.onOpen();
  });
  return {
    socket,
    get asked() {
      return admission.granted;
    },
  };
}
