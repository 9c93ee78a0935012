import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import { AppError } from "../../platform/errors.ts";
import type { Tracer } from "../../platform/telemetry/tracing.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { PausableSource } from "../body/incoming-body.ts";
import { createClientAddresses } from "../request/client-address.ts";
import { readPortalRequest } from "../request/portal-session.ts";
import { HttpRequest, RETAINED_HEADERS, type RetainedHeader } from "../request/request.ts";
import { type FieldSource, RequestFields } from "../request/request-fields.ts";
import { type RequestIds, saneRequestId } from "../request/request-id.ts";
import { acceptsBody, type Route } from "../routing/route.ts";
import { createRouter, type Match } from "../routing/router.ts";
import { BodyIntake, type BodyIntakeLimits } from "./body-intake.ts";

/** The methods of uWebSockets.js' request that are needed. It is invalid once the handler has returned. */
export interface RequestSource extends FieldSource {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string;
  getHeader(name: string): string;
}

export interface ConnectionSource extends PausableSource {
  getRemoteAddress(): ArrayBuffer;
}

export interface IntakeLimits extends BodyIntakeLimits {
  urlBytes: number;
}

export interface Intake {
  /** Routes that the server itself may look up, by method and path. */
  readonly fixed: readonly Match[];
  /**
   * Copies the request's line, its credential, its id, and its origin if origins are read. Never throws.
   * @param known the matched route, if the server has looked it up
   */
  begin(source: RequestSource, known: Match | null): HttpRequest;
  /**
   * Attaches the body, if there is one, and reads none of it. Called before any other check may refuse the request.
   * @throws AppError `bad_request` when the body's length is ambiguous
   */
  frame(request: HttpRequest, source: RequestSource, connection: ConnectionSource): void;
  /** @throws AppError `uri_too_long` and those of the router */
  match(request: HttpRequest, known: Match | null): Match;
  /** Copies the headers, and attaches the body, as far as the route needs them. */
  read(request: HttpRequest, match: Match, source: RequestSource, connection: ConnectionSource): void;
}

const KEPT: ReadonlySet<string> = new Set(RETAINED_HEADERS);
const isKept = (name: string): name is RetainedHeader => KEPT.has(name);

/** Copies the kept headers, first value of each. */
function readHeaders(request: HttpRequest, source: RequestSource): void {
  source.forEach((name, value) => {
    if (isKept(name)) request.headers[name] ??= value;
  });
}

function readNamed({ headers }: HttpRequest, source: RequestSource, names: Route["readsHeaders"]): void {
  if (names !== undefined) for (const name of names) headers[name] = source.getHeader(name);
}

/** Decides whether the request is traced: by its sender, or by chance. */
function sampleTrace(request: HttpRequest, source: RequestSource, tracer: Tracer): void {
  const sampled = tracer.sample(source.getHeader("traceparent"));
  if (sampled !== null) request.sampled = { by: tracer, as: sampled };
}

/** Reads the credential of the request. The portal's session is in a cookie, which replaces the header. */
function takeCredential(request: HttpRequest, fields: RequestFields, source: RequestSource): void {
  if (fields.authorization !== "") {
    request.headers.authorization = fields.authorization;
    fields.forgetAuthorization();
    return;
  }
  const { isFromPortal, token } = readPortalRequest(request.method, source);
  request.isFromPortal = isFromPortal;
  if (token !== null) request.headers.authorization = `Bearer ${token}`;
}

/** A proxy may append a field of its own instead of extending the client's: all of them count, in order. */
function forwardedFor(source: RequestSource): string {
  const hops: string[] = [];
  source.forEach((name, value) => {
    if (name === "x-forwarded-for") hops.push(value);
  });
  return hops.join(",");
}

/** Copies uWebSockets.js' requests, which are valid for one call only, into requests of our own. */
export function createIntake(deps: {
  routes: readonly Route[];
  clock: Clock;
  clients: ClientLimiter;
  ids: RequestIds;
  config: { trustedProxies: readonly string[]; corsOrigins: readonly string[] };
  limits: IntakeLimits;
  tracer?: Tracer | null;
}): Intake {
  const { clock, limits, tracer = null } = deps;
  const router = createRouter(deps.routes);
  const addresses = createClientAddresses(deps.config.trustedProxies);
  const bodies = new BodyIntake(deps);
  const fields = new RequestFields(deps.config.corsOrigins.length > 0);

  function readAddress(source: RequestSource, connection: ConnectionSource): string {
    const hops = addresses.readsForwardedFor ? forwardedFor(source) : "";
    return addresses.resolve(new Uint8Array(connection.getRemoteAddress()), hops);
  }

  return {
    fixed: router.fixed,
    begin(source, known) {
      fields.read(source);
      const request = new HttpRequest({
        id: saneRequestId(fields.requestId) ?? deps.ids,
        method: known === null ? source.getCaseSensitiveMethod() : known.route.method,
        path: known === null ? source.getUrl() : known.route.path,
        rawQuery: source.getQuery() ?? "",
        startedMs: clock.monotonic(),
      });
      if (tracer !== null) sampleTrace(request, source, tracer);
      request.origin = fields.origin;
      takeCredential(request, fields, source);
      return request;
    },
    frame(request, source, connection) {
      request.addressFrom(() => readAddress(source, connection));
      request.declaredBytes = fields.declaredBytes();
      if (request.declaredBytes !== 0) request.incoming = bodies.receive(request, connection);
    },
    match(request, known) {
      if (request.path.length + request.rawQuery.length > limits.urlBytes)
        throw new AppError("uri_too_long", `The path and query are over ${limits.urlBytes} bytes.`);
      if (known !== null) return known;
      const match = router.match(request.method, request.path);
      if (match.params !== null) request.params = match.params;
      return match;
    },
    read(request, { route }, source, connection) {
      if (route.readsClientAddress === true || route.rate === "client") void request.clientAddress;
      if (!acceptsBody(route)) {
        readNamed(request, source, route.readsHeaders);
        return;
      }
      readHeaders(request, source);
      request.incoming ??= bodies.receive(request, connection);
      if (route.incoming === "streamed") return;
      request.body = bodies.collect(request, request.incoming, route);
    },
  };
}
