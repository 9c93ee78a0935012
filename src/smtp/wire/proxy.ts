import { createRequire } from "node:module";
import { connect, type Socket } from "node:net";
import type { SocksClient } from "socks";
import type { ProxyConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { createProxyLookup } from "./proxy-lookup.ts";

/** Why the tunnel failed. Contains neither the proxy's address nor its credentials: it may be shown to anyone. */
export interface TunnelFailure {
  /** `proxy`: the proxy failed; else how the target failed, as for a direct dial. */
  cause: "proxy" | "refused" | "unreachable" | "timeout";
  detail: string;
}

export interface TunnelHandler {
  /** The target accepted the connection. Its reader must listen for `data` before this returns. */
  onOpen(): void;
  /** Called once, instead of `onOpen`; also when the opener destroyed the socket. */
  onFailed(failure: TunnelFailure): void;
}

/** A connection through a SOCKS5 proxy (RFC 1928). */
export interface Tunnel {
  /** The opener must end it. It carries the target's bytes once open. */
  readonly socket: Socket;
  /** The proxy accepted us and was asked to connect: from now on we wait for the target. */
  readonly isTargetRequested: boolean;
}

/**
 * Failures that a proxy reports about the target (RFC 1928 §6), by the names of `socks`. Dante and others answer TTLExpired
 * when a connection timed out. An address type unknown to the proxy counts like a missing IP version.
 */
const TARGET_FAILURES: Readonly<Record<string, TunnelFailure["cause"]>> = {
  NetworkUnreachable: "unreachable",
  HostUnreachable: "unreachable",
  ConnectionRefused: "refused",
  TTLExpired: "timeout",
  AddressNotSupported: "unreachable",
};

/** `socks` reports a reply only at the end of its message. */
const REJECTED = / rejected connection - (\w+)$/;

function failureOf(message: string): TunnelFailure {
  const reply = REJECTED.exec(message)?.[1];
  if (reply !== undefined) {
    const name = reply === "undefined" ? "no reply of SOCKS5" : reply;
    return { cause: TARGET_FAILURES[reply] ?? "proxy", detail: `proxy: ${name}` };
  }
  const refused = /[Aa]uthentication/.test(message);
  return { cause: "proxy", detail: refused ? "proxy: authentication failed" : "proxy: broken dialogue" };
}

/** Detects the proxy's first octets, after which it connects. */
class SocksNegotiation {
  readonly #octets: number[] = [];

  read(chunk: Buffer): void {
    for (const octet of chunk.subarray(0, 4 - this.#octets.length)) this.#octets.push(octet);
  }

  /** Method 0 needs no login; method 2 is followed by a version and 0 for success (RFC 1929 §2). */
  get isComplete(): boolean {
    const [, method, , status] = this.#octets;
    return method === 0 || (method === 2 && status === 0);
  }
}

/** Loaded on first use: without a proxy, `socks` would cost 50 ms of each thread's start. */
const load = createRequire(import.meta.url);

function clientFor(proxy: ProxyConfig, target: { address: string; port: number }): SocksClient {
  const { host, port, credentials } = proxy;
  const login = credentials === null ? {} : { userId: credentials.username, password: credentials.password };
  const { SocksClient } = load("socks") as typeof import("socks");
  return new SocksClient({
    proxy: { host, port, type: 5, ...login },
    command: "connect",
    destination: { host: target.address, port: target.port },
    // The opener has an earlier deadline of its own; this one only cleans up abandoned tunnels.
    timeout: LIMITS.smtp.connectTimeoutMs,
  });
}

const ignore = () => {};

/**
 * `socks` never clears its timer. The timer holds the client with its buffers, socket and listeners long after the tunnel
 * is open or closed. This removes them once the client is done.
 */
function release(client: SocksClient): void {
  client.removeAllListeners();
  client.on("error", ignore);
  Object.assign(client, { socket: null, receiveBuffer: null, onDataReceived: null });
  Object.assign(client, { onClose: null, onError: null, onConnect: null });
}

const proxyLookup = createProxyLookup();

/**
 * Dials `target` through `proxy`. The outcome arrives through `handler`, never before this returns. It has no deadline: a
 * caller that gives up destroys the socket, and `isTargetRequested` says whether it waited for the proxy or the target.
 * Errors of `socks` never leave this function, since they carry the credentials.
 */
export function openTunnel(
  proxy: ProxyConfig,
  target: { address: string; port: number },
  handler: TunnelHandler,
): Tunnel {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, lookup: proxyLookup });
  const client = clientFor(proxy, target);
  const negotiation = new SocksNegotiation();
  const watch = (chunk: Buffer) => negotiation.read(chunk);
  const onError = (error: NodeJS.ErrnoException) =>
    fail({ cause: "proxy", detail: `proxy: ${error.code ?? "error"}` });
  const onClose = () => fail({ cause: "proxy", detail: "proxy: closed" });
  let over = false;

  function conclude(): void {
    over = true;
    socket.off("data", watch);
    socket.off("close", onClose);
    // `socks` handles the same event after us, and passes on the bytes that came with the reply in an immediate of its own.
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
    // An address of unknown type was not read: where it ends and the server's first words begin is not known.
    if (remoteHost === undefined) return fail({ cause: "proxy", detail: "proxy: broken dialogue" });
    conclude();
    handler.onOpen();
  });
  return {
    socket,
    get isTargetRequested() {
      return negotiation.isComplete;
    },
  };
}
