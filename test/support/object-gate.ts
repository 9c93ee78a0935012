import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A fault that the gate applies to a request. */
export type ObjectFault =
  /** Answers with this status and S3's XML of an error. */
  | { status: 500 | 503 }
  /** Passes it on, and sends the answer's body at this rate. */
  | { bytesPerSecond: number }
  /** Passes it on, and cuts the connection after this many bytes of the answer's body. */
  | { cutAfterBytes: number }
  /** Never answers. */
  | "silence";

/** Properties of a request, by which a fault can be chosen. */
export interface ObjectRequest {
  method: string;
  /** `/bucket/key`, decoded. */
  path: string;
  /** Header `Range`, if it has one. */
  range: string | undefined;
  /** Bytes of its body, as its headers declare. */
  bytes: number;
  /** Number of requests before it. */
  index: number;
}

/** A proxy before object storage that injects faults. */
export interface ObjectGate {
  /** For S3_ENDPOINT. */
  endpoint: string;
  /** Called for each request from now on; null passes it on. */
  setFaults(faults: (request: ObjectRequest) => ObjectFault | null): void;
  /** Requests since the start, and those that were failed. */
  readonly seen: { requests: number; failed: number };
  close(): Promise<void>;
}

const ERROR_XML =
  '<?xml version="1.0"?><Error><Code>InternalError</Code><Message>told to fail</Message></Error>';
const TICK_MS = 50;

/** Sends a body at a fixed rate. */
function trickle(from: IncomingMessage, to: ServerResponse, bytesPerSecond: number): void {
  const share = Math.max(1, Math.round((bytesPerSecond * TICK_MS) / 1_000));
  const timer = setInterval(() => {
    const piece = from.read(Math.min(share, from.readableLength)) as Buffer | null;
    if (piece !== null) to.write(piece);
    if (from.readableEnded || from.destroyed) {
      clearInterval(timer);
      to.end();
    }
  }, TICK_MS);
  // A listener, so that the stream is read into its buffer at all.
  from.on("readable", () => undefined);
  to.on("close", () => clearInterval(timer));
}

function cutAfter(from: IncomingMessage, to: ServerResponse, bytes: number): void {
  let left = bytes;
  from.on("data", (piece: Buffer) => {
    to.write(piece.subarray(0, left));
    left -= piece.length;
    if (left > 0) return;
    from.destroy();
    to.destroy();
  });
  from.on("end", () => to.end());
}

function passOn(
  target: URL,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: ObjectFault | null,
): ClientRequest {
  const { method, url, headers } = incoming;
  // The signature covers the Host that the client saw: the header is passed on unchanged.
  const upstream = request({ host: target.hostname, port: target.port, method, path: url, headers });
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.on("error", () => response.destroy());
    if (fault !== null && typeof fault === "object" && "bytesPerSecond" in fault)
      trickle(answer, response, fault.bytesPerSecond);
    else if (fault !== null && typeof fault === "object" && "cutAfterBytes" in fault)
      cutAfter(answer, response, fault.cutAfterBytes);
    else answer.pipe(response);
  });
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  incoming.pipe(upstream);
  return upstream;
}

/** @param endpoint URL of the storage */
export async function createObjectGate(endpoint: string): Promise<ObjectGate> {
  const target = new URL(endpoint);
  const seen = { requests: 0, failed: 0 };
  let faults: (request: ObjectRequest) => ObjectFault | null = () => null;

  const server = createServer((incoming, response) => {
    const path = decodeURIComponent(new URL(incoming.url ?? "/", endpoint).pathname);
    const { method = "", headers } = incoming;
    const bytes = Number(headers["x-amz-decoded-content-length"] ?? headers["content-length"] ?? 0);
    const fault = faults({ method, path, range: headers.range, bytes, index: seen.requests++ });
    if (fault !== null) seen.failed += 1;
    incoming.on("error", () => response.destroy());
    if (fault === "silence") return void incoming.resume();
    if (fault !== null && "status" in fault) {
      incoming.resume();
      incoming.on("end", () => {
        response.writeHead(fault.status, { "Content-Type": "application/xml" });
        response.end(ERROR_XML);
      });
      return;
    }
    passOn(target, incoming, response, fault);
  });
  // Answers `Expect: 100-continue` itself, and forwards the request without that header.
  server.on("checkContinue", (incoming, response) => {
    response.writeContinue();
    delete incoming.headers.expect;
    server.emit("request", incoming, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setFaults(next) {
      faults = next;
    },
    seen,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
