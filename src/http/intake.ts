import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { collectBody, createBodyBudget } from "./body.ts";
import { createClientAddresses } from "./client-address.ts";
import { type PausingSource, receiveBody } from "./incoming-body.ts";
import { HttpRequest, KEPT_HEADERS, type KeptHeader } from "./request.ts";
import { createRequestIds, saneRequestId } from "./request-id.ts";
import type { Route } from "./route.ts";
import { createRouter, type Match } from "./router.ts";

/** uWebSockets.js' request, by what is read of it. Dies when the handler returns. */
export interface RequestSource {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string;
  getHeader(name: string): string;
  forEach(callback: (name: string, value: string) => void): void;
}

export interface ConnectionSource extends PausingSource {
  getRemoteAddress(): ArrayBuffer;
}

export interface IntakeLimits {
  urlBytes: number;
  bodyBytes: number;
  bodyBytesInFlight: number;
}

export interface Intake {
  /** Copies the request's line, its id, and its origin where that matters. Never throws. */
  begin(source: RequestSource): HttpRequest;
  /** @throws AppError `uri_too_long` and those of the router */
  match(request: HttpRequest): Match;
  /**
   * Copies the headers and starts to collect or to take in the body, as far as the route wants them.
   * @throws AppError `bad_request` when the body's length is ambiguous
   */
  read(request: HttpRequest, match: Match, source: RequestSource, connection: ConnectionSource): void;
}

const KEPT: ReadonlySet<string> = new Set(KEPT_HEADERS);
const isKept = (name: string): name is KeptHeader => KEPT.has(name);

/**
 * null: no `Content-Length`. Two of them are how requests are smuggled past a proxy: whoever sends them is refused and
 * disconnected (RFC 9112 §6.3).
 */
function declaredLength(values: readonly string[]): number | null {
  const [value] = values;
  if (value === undefined) return null;
  if (values.length > 1 || !/^\d{1,15}$/.test(value))
    throw new AppError("bad_request", "The Content-Length header is not a single number.", {
      headers: { Connection: "close" },
    });
  return Number(value);
}

/** Copies the kept headers, first value of each, and returns every `Content-Length`. */
function readHeaders(request: HttpRequest, source: RequestSource): string[] {
  const lengths: string[] = [];
  source.forEach((name, value) => {
    if (name === "content-length") lengths.push(value);
    if (isKept(name)) request.headers[name] ??= value;
  });
  return lengths;
}

/** Turns what the server holds for the length of a call into plain requests. */
export function createIntake(deps: {
  routes: readonly Route[];
  clock: Clock;
  config: { trustedProxies: readonly string[]; corsOrigins: readonly string[] };
  limits: IntakeLimits;
}): Intake {
  const { clock, limits } = deps;
  const router = createRouter(deps.routes);
  const addresses = createClientAddresses(deps.config.trustedProxies);
  const budget = createBodyBudget(limits.bodyBytesInFlight);
  const nextId = createRequestIds();
  const readsOrigin = deps.config.corsOrigins.length > 0;

  function readAddress(source: RequestSource, connection: ConnectionSource): string {
    // A proxy may append a field of its own instead of extending the client's: all of them count, in order.
    const hops: string[] = [];
    if (addresses.readsForwardedFor) {
      source.forEach((name, value) => {
        if (name === "x-forwarded-for") hops.push(value);
      });
    }
    return addresses.resolve(new Uint8Array(connection.getRemoteAddress()), hops.join(","));
  }

  return {
    begin(source) {
      const request = new HttpRequest({
        id: saneRequestId(source.getHeader("x-request-id")) ?? nextId(),
        method: source.getCaseSensitiveMethod(),
        path: source.getUrl(),
        rawQuery: source.getQuery() ?? "",
        startedMs: clock.monotonic(),
      });
      // A call into the server that nearly no deployment needs.
      if (readsOrigin) request.origin = source.getHeader("origin");
      return request;
    },
    match(request) {
      if (request.path.length + request.rawQuery.length > limits.urlBytes)
        throw new AppError("uri_too_long", `The path and query are over ${limits.urlBytes} bytes.`);
      const match = router.match(request.method, request.path);
      if (match.params !== null) request.params = match.params;
      return match;
    },
    read(request, { route }, source, connection) {
      if (route.readsClientAddress === true) request.clientAddress = readAddress(source, connection);
      const takesBody = route.body !== undefined || route.signedBody !== undefined;
      if (!takesBody && route.incoming !== true) {
        // The one header that these routes need, without a call into JavaScript for each of the others.
        const authorization = source.getHeader("authorization");
        if (authorization !== "") request.headers.authorization = authorization;
        for (const name of route.readsHeaders ?? []) request.headers[name] = source.getHeader(name);
        return;
      }
      const declaredBytes = declaredLength(readHeaders(request, source));
      if (!takesBody) {
        // Without either there is none.
        const isChunked = source.getHeader("transfer-encoding") !== "";
        request.incoming = receiveBody(connection, declaredBytes ?? (isChunked ? null : 0));
        return;
      }
      request.body = collectBody(connection, {
        limitBytes: route.bodyBytes ?? limits.bodyBytes,
        declaredBytes,
        budget,
      });
    },
  };
}
