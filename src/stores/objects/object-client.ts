import { finished, type Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import type { Config } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { isLoopbackHost } from "../../config/local-url.ts";
import { createSemaphore, type Semaphore, type SemaphoreLimits } from "../../platform/semaphore.ts";
import type { Clock } from "../../platform/time/clock.ts";

type Handler = S3Client["config"]["requestHandler"];

/** A request holds its permit until its answer has been read or given up: as long as it has its socket. */
function releaseWhenRead(body: unknown, end: () => void): void {
  if (body === undefined || body === null) end();
  else finished(body as Readable, { writable: false }, end);
}

/**
 * Wraps `handler` so that each request waits for a permit before it asks for a socket. A waiting request thus does not
 * count as unanswered by object storage, and runs none of the handler's timers.
 */
export function limitConcurrency(handler: Handler, semaphore: Semaphore): Handler {
  const handle: Handler["handle"] = async (request, options) => {
    const { abortSignal } = (options ?? {}) as { abortSignal?: AbortSignal };
    const end = await semaphore.acquire(abortSignal);
    try {
      const answer = await handler.handle(request, options);
      releaseWhenRead(answer.response.body, end);
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  };
  return Object.assign(Object.create(handler) as Handler, { handle });
}

/** A request as the client builds it. */
interface OutgoingRequest {
  protocol: string;
  hostname: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** Nothing in between can change the request: it is encrypted, or does not leave this machine. */
function isGuarded({ protocol, hostname }: OutgoingRequest): boolean {
  return protocol === "https:" || isLoopbackHost(hostname);
}

/**
 * Leaves out the SHA-256 that would let the signature cover the body, except on plain http. Written bodies carry a CRC-32,
 * which the store compares; S3 and compatible stores accept unsigned bodies. On TLS the hash protects against nothing, and
 * takes a millisecond of CPU for each MiB, much of the time to assemble results. On loopback it is left out too: benches
 * against the development server would measure the hash.
 */
export function leaveBodiesUnsigned(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as OutgoingRequest;
      if (request.body instanceof Uint8Array && isGuarded(request))
        request.headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD";
      return next(args);
    },
    { step: "build", name: "unsignedBodies" },
  );
}

/**
 * An S3 client with sockets of its own. It uses path-style URLs, which S3, R2, MinIO and the development server all accept.
 * @param limits of its requests. The client does not retry a request that got no permit.
 */
export function createObjectClient(
  settings: NonNullable<Config["objects"]>,
  limits: SemaphoreLimits,
  clock: Clock,
): S3Client {
  const { connectTimeoutMs, requestTimeoutMs, silenceMs, attempts } = LIMITS.objects;
  // The semaphore bounds requests in progress. A bound in the agents too would make requests wait for a socket within
  // `connectTimeoutMs`.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: limits.atOnce };
  const client = new S3Client({
    region: settings.region,
    forcePathStyle: true,
    maxAttempts: attempts,
    // For granted buckets, which may be in another region.
    followRegionRedirects: true,
    // Partial reads have no checksum to compare with, and the comparing stream would keep the connection of an abandoned
    // read.
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Without it the client would only log a warning.
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
    ...(settings.credentials === null ? {} : { credentials: settings.credentials }),
  });
  leaveBodiesUnsigned(client);
  client.config.requestHandler = limitConcurrency(
    client.config.requestHandler,
    createSemaphore(limits, "object storage", clock),
  );
  return client;
}
