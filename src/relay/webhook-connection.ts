import { isIP, type LookupFunction, connect as openTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as startTls } from "node:tls";
import { LIMITS } from "../core/limits.ts";
import type { Target } from "./webhook-target.ts";

type Reachable = Extract<Target, { ok: true }>;

/** How far an attempt has come: what an error means depends on it. */
export type Phase = "connecting" | "securing" | "asking";

interface ConnectionEvents {
  phase(phase: Phase): void;
  /** Of the TCP connection, or of TLS on it. */
  error(error: NodeJS.ErrnoException): void;
  /** More has come over TLS than anybody needs to send. */
  tooMuch(): void;
}

interface Connection {
  /** What a request is written to and its answer read from: the TCP connection, or TLS on it. */
  stream: Socket;
  close(): void;
}

/** Answers every question with the addresses that were checked. */
function pinned(addresses: Reachable["addresses"]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, addresses);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

/** Hands on what arrives and counts it first: TLS says nothing of the bytes that it drops, however many they are. */
function metered(tcp: Socket, limitBytes: number, tooMuch: () => void): Duplex {
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
  // After an end, what has come is still to be read.
  tcp.once("close", () => tcp.readableEnded || stream.destroy());
  // Both ends of it tell of the same error themselves.
  stream.on("error", () => undefined);
  return stream;
}

/**
 * Connects to the addresses of a target and to no others, and speaks TLS there if the URL says https: with the URL's
 * host, by a certificate that the system trusts. Bounded in what TLS reads from the wire; not in time.
 */
export function openConnection(url: URL, target: Reachable, events: ConnectionEvents): Connection {
  const { connectMs, tlsBytes } = LIMITS.webhooks;
  const secure = url.protocol === "https:";
  const tcp = openTcp({
    host: target.host,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    lookup: pinned(target.addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: connectMs,
  });
  tcp.on("error", events.error);
  tcp.once("connect", () => events.phase(secure ? "securing" : "asking"));

  const stream = secure
    ? startTls({
        socket: metered(tcp, tlsBytes, events.tooMuch),
        host: target.host,
        // RFC 6066 §3: no address in the server name.
        servername: isIP(target.host) === 0 ? target.host : "",
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: true,
      })
    : tcp;
  if (secure) stream.on("error", events.error);
  stream.once("secureConnect", () => events.phase("asking"));
  return {
    stream,
    close() {
      stream.destroy();
      tcp.destroy();
    },
  };
}
