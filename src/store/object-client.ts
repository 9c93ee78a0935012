import { finished, type Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import { isLoopbackHost } from "../core/local-url.ts";
import { createTurns, type Turns, type TurnsLimits } from "./turns.ts";

type Handler = S3Client["config"]["requestHandler"];

/** A request has its turn until its answer has been read, or given up: as long as it has its socket. */
function holdUntilRead(body: unknown, end: () => void): void {
  if (body === undefined || body === null) end();
  else finished(body as Readable, { writable: false }, end);
}

/**
 * `handler`, whose requests wait for their turn before they ask for a socket: one that waits is not one that object
 * storage does not answer, and none of the handler's timers runs.
 */
export function inTurns(handler: Handler, turns: Turns): Handler {
  const handle: Handler["handle"] = async (request, options) => {
    const { abortSignal } = (options ?? {}) as { abortSignal?: AbortSignal };
    const end = await turns.take(abortSignal);
    try {
      const answer = await handler.handle(request, options);
      holdUntilRead(answer.response.body, end);
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  };
  return Object.assign(Object.create(handler) as Handler, { handle });
}

/** Of a request, as the client puts it together. */
interface Outgoing {
  protocol: string;
  hostname: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** Nobody in between can change what is sent: it is encrypted, or does not leave this machine. */
function isGuarded({ protocol, hostname }: Outgoing): boolean {
  return protocol === "https:" || isLoopbackHost(hostname);
}

/**
 * What is written goes with a CRC-32, which the store compares, and where nobody in between can change it without the SHA-256
 * that would let the signature speak for the body too: that is a millisecond of CPU a mebibyte, much of what putting results
 * together takes, and guards against nobody there. S3 and all who speak its language know bodies that are not signed. On
 * plain http the signature speaks for them; but to loopback, where the development server listens, and benches would measure
 * the hash.
 */
export function leaveBodiesUnsigned(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as Outgoing;
      if (request.body instanceof Uint8Array && isGuarded(request))
        request.headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD";
      return next(args);
    },
    { step: "build", name: "unsignedBodies" },
  );
}

/**
 * An S3 client with sockets of its own, path-style, so that it serves S3, R2, MinIO and the development server alike.
 * @param limits of its requests. What is refused for want of a turn is not tried again by the client itself.
 */
export function createObjectClient(
  settings: NonNullable<Config["objects"]>,
  limits: TurnsLimits,
  clock: Clock,
): S3Client {
  const { connectTimeoutMs, requestTimeoutMs, silenceMs, attempts } = LIMITS.objects;
  // Turns bound what is under way. Agents that did too would let requests wait for a socket within `connectTimeoutMs`.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: limits.atOnce };
  const client = new S3Client({
    region: settings.region,
    forcePathStyle: true,
    maxAttempts: attempts,
    // Of a bucket that somebody granted, which may lie elsewhere.
    followRegionRedirects: true,
    // Of what is read in pieces and from the middle there is none to compare with; and the stream that compares would
    // keep the connection of a read that is given up.
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Else it only warns.
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
    ...(settings.credentials === null ? {} : { credentials: settings.credentials }),
  });
  leaveBodiesUnsigned(client);
  client.config.requestHandler = inTurns(
    client.config.requestHandler,
    createTurns(limits, "object storage", clock),
  );
  return client;
}
