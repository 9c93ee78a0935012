import { isIP, type LookupFunction, connect as openTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as startTls } from "node:tls";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { WebhookTarget } from "./webhook-target.ts";

type Reachable = Extract<WebhookTarget, { ok: true }>;

/** The phase of an attempt: the meaning of an error depends on it. */
export type ConnectionPhase = "connecting" | "securing" | "asking";

interface ConnectionEvents {
  onPhase(phase: ConnectionPhase): void;
  /** Error of the TCP connection, or of TLS on it. */
  onError(error: NodeJS.ErrnoException): void;
  /** The receiver sent too much data over TLS. */
  onTooMuchData(): void;
}

interface Connection {
  /** The request's stream: the TCP connection, or TLS on it. */
  stream: Socket;
  close(): void;
}

/** Resolves every name to the checked addresses. */
function lookupPinned(addresses: Reachable["addresses"]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, addresses);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

/** Counts what arrives before passing it on: TLS does not report the bytes that it drops, however many. */
function limitTlsBytes(tcp: Socket, limitBytes: number, tooMuch: () => void): Duplex {
  let bytes = 0;
  const stream = new Duplex({
    read: () => void tcp.resume(),
    write: (chunk: Buffer, _encoding, done) => void tcp.write(chunk, done),
    final: (done) => void tcp.end(done),
    destroy(error, done) {
      tcp.destroy();
      done(error);
    },
  });
  tcp.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limitBytes) tooMuch();
    else if (!stream.push(chunk)) tcp.pause();
  });
  tcp.once("end", () => stream.push(null));
  // After an end, received data must still be read.
  tcp.once("close", () => tcp.readableEnded || stream.destroy());
  // Both of its ends report the same error themselves.
  stream.on("error", () => undefined);
  return stream;
}

/**
 * Connects only to the addresses of a target, and starts TLS there if the URL says https: for the URL's host, with a
 * certificate that the system trusts. Bounds what TLS reads from the wire, but not the time.
 */
export function openConnection(url: URL, target: Reachable, events: ConnectionEvents): Connection {
  const { connectMs, tlsBytes } = LIMITS.webhooks;
  const secure = url.protocol === "https:";
  const tcp = openTcp({
    host: target.host,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    lookup: lookupPinned(target.addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: connectMs,
  });
  tcp.on("error", events.onError);
  tcp.once("connect", () => events.onPhase(secure ? "securing" : "asking"));

  const stream = secure
    ? startTls({
        socket: limitTlsBytes(tcp, tlsBytes, events.onTooMuchData),
        host: target.host,
        // RFC 6066 §3: the server name must not be an address.
        servername: isIP(target.host) === 0 ? target.host : "",
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: true,
      })
    : tcp;
  if (secure) stream.on("error", events.onError);
  stream.once("secureConnect", () => events.onPhase("asking"));
  return {
    stream,
    close() {
      stream.destroy();
      tcp.destroy();
    },
  };
}
