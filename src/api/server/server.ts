/**
 * The front: the only importer of uWebSockets.js. Everything behind it works on plain requests and replies.
 *
 * What uWebSockets.js does by itself, and we cannot change from here:
 * - A client that is slow is cut off: 10 to 12 s for a request's header from its first byte and for an idle connection; a
 *   body must come at 16 KB/s or more (we ask for more, and answer 408 before that: body-pace.ts); so is one that takes nothing of a large answer for 10 to 12 s. While a handler
 *   works, or a stream has nothing to send, there is no such limit.
 * - `Expect: 100-continue` is answered before we see the request. HTTP/1.0 and older is answered 505, in words, and closed.
 * - A header over `LIMITS.http.headerBytes` is refused with 431, a malformed request line with 400 or 505, both with
 *   `Connection: close`; a header that comes in one piece may be larger, it is never kept. More than 100 fields, a
 *   missing Host or a NUL in a field get no answer: the connection is closed when its time is up.
 * - Pipelined requests are served in order while the answers come at once; a request that arrives while the one before
 *   it is still being worked on closes the connection, which cancels that work. Answers are never mixed up.
 */

import type {
  HttpResponse,
  HttpRequest as NativeRequest,
  TemplatedApp,
  us_listen_socket,
} from "uWebSockets.js";
import { limitNativeHeaders } from "../../config/config.ts";
import type { RateLimitState } from "../../features/quota/limits-view.ts";
import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Tracer } from "../../platform/telemetry/tracing.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { behindLastAnswer, createLastAnswers, refuseAlone, workAlone } from "../body/alone.ts";
import type { IncomingBody } from "../body/incoming-body.ts";
import { answerEarly } from "../body/linger.ts";
import { chargeRefusedBody } from "../body/refused-bodies.ts";
import { createStreams } from "../body/streams.ts";
import { createFailureReplies } from "../reply/failure-replies.ts";
import { createHeadTemplates } from "../reply/head-template.ts";
import { type BodyStream, type HttpReply, hasStream, hasWholeBody, largeBodyOf } from "../reply/reply.ts";
import {
  bodyBytes,
  headParts,
  type WriteOptions,
  writeReply,
  writeStreamHead,
  writeWithBackPressure,
} from "../reply/respond.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { createRequestIds } from "../request/request-id.ts";
import type { Route } from "../routing/route.ts";
import type { Match } from "../routing/router.ts";
import { createCors } from "./cors.ts";
import { dispatch, type RequestGate } from "./dispatch.ts";
import { beginExchange, type HttpExchange as OpenExchange, routePatternOf } from "./http-exchange.ts";
import { createInFlightRequests } from "./in-flight-requests.ts";
import { createIntake, type IntakeLimits } from "./intake.ts";
import { limitConnections, listenExclusively } from "./listen.ts";
import { createLongTicks } from "./long-ticks.ts";
import { CLIENT_CLOSED, createRequestObserver, type ObserverLimits } from "./observe.ts";

export interface HttpServer {
  /** Listens, alone on its port. @throws Error when it cannot */
  listen(): Promise<{ port: number }>;
  /**
   * From now on every answer closes its connection, so that who keeps one open comes back over another, by way of a
   * balancer to another process. All is served as ever.
   */
  startDraining(): void;
  isDraining(): boolean;
  /**
   * Leaves, stops listening and resolves when no request is in flight, and clients have taken their bodies or have gone. What
   * still comes over open connections after that is refused with 503.
   */
  drain(): Promise<void>;
  /** Closes whatever is still open. Idempotent. */
  close(): void;
}

export interface HttpLimits extends IntakeLimits, ObserverLimits {
  headerBytes: number;
  /** Connections beyond this are closed as they come. */
  connections: number;
  /** Requests being worked on, those whose client has gone included; beyond this they are refused with 503. */
  requestsInFlight: number;
}

export interface HttpServerDeps {
  routes: readonly Route[];
  gate: RequestGate;
  /** Charged for refused bodies, and asked before a stranger's body is read. */
  clients: ClientLimiter;
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  /** Whether something thrown says that a store cannot be reached now: a 503, not a fault of ours. */
  isOutage(error: unknown): boolean;
  /** Absent: nothing is traced. */
  tracer?: Tracer | null;
  config: {
    host: string;
    port: number;
    trustedProxies: readonly string[];
    /** Origins whose pages may call; none: no browser's page may. */
    corsOrigins: readonly string[];
  };
  limits: HttpLimits;
}

type Exchange = OpenExchange<HttpResponse>;

/** What uWebSockets.js calls them. */
const NATIVE_METHODS = { GET: "get", POST: "post", PUT: "put", PATCH: "patch", DELETE: "del" } as const;

/** Of the event loop, whoever serves on it. */
const longTurns = createLongTicks();

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { gate, log, metrics, limits } = deps;
  const ids = createRequestIds();
  const intake = createIntake({ ...deps, ids });
  const heads = createHeadTemplates(ids, headParts);
  const observer = createRequestObserver(deps);
  const failures = createFailureReplies(deps);
  const counted = (streams: number) => metrics.httpStreams.set(streams);
  const authenticate = (authorization: string) => gate.authenticate(authorization);
  const streams = createStreams({ authenticate, clock: deps.clock, onCount: counted });
  const cors = deps.config.corsOrigins.length > 0 ? createCors(deps.config.corsOrigins) : null;
  const underWay = createInFlightRequests();
  metrics.httpInFlight.readFrom(() => underWay.count());
  const lastAnswers = createLastAnswers();
  /** Every answer closes its connection. */
  let leaving = false;
  let app: TemplatedApp | null = null;
  let listening: us_listen_socket | null = null;
  let stopListening = (_socket: us_listen_socket) => {};

  const ofRequest = (exchange: Exchange) => ({ id: exchange.request.id, route: routePatternOf(exchange) });

  function problem(error: unknown, exchange: Exchange): HttpReply {
    return failures.replyTo(error, ofRequest(exchange));
  }

  function finish(exchange: Exchange, status: number, bytes: number, code: string | null): void {
    exchange.isOver = true;
    exchange.released?.();
    exchange.released = null;
    exchange.request.body?.abandon();
    exchange.request.incoming?.abandon();
    observer.recordFinished(exchange.request, routePatternOf(exchange), {
      status,
      bytes,
      code,
      headMs: exchange.headMs,
    });
    if (exchange.isSendingLargeBody) underWay.bodyEnded();
  }

  function finishWith(exchange: Exchange, reply: HttpReply): void {
    finish(exchange, reply.status, bodyBytes(reply), reply.code);
  }

  /** An answer is worth more than its limits' description, and an exception here would end the process. */
  function limitsLeft({ request, match }: Exchange): RateLimitState | null {
    if (request.actor === null || match === null || match.route.access === "public") return null;
    try {
      return gate.limitsLeft(request.actor, match.route.rate);
    } catch (error) {
      log.error({ err: error, request_id: request.id }, "the rate limit could not be described");
      return null;
    }
  }

  /** The body goes on after this; it counts, and its outcome is told, when it ends. */
  function stream(exchange: Exchange, reply: HttpReply & { body: BodyStream }, options: WriteOptions): void {
    const { request, response } = exchange;
    let bytes = 0;
    response.onAborted(() => abort(exchange));
    writeStreamHead(response, reply, options);
    exchange.headMs = deps.clock.monotonic() - request.startedMs;
    exchange.abortStream = streams.start({
      response,
      body: reply.body,
      authorization: request.actor === null ? null : (request.headers.authorization ?? ""),
      onSent: (more) => {
        bytes += more;
      },
      onEnded: (error) => {
        if (error !== null)
          log.error(
            { err: error, request_id: request.id, route: exchange.match?.route.path },
            "a body broke off",
          );
        finish(exchange, reply.status, bytes, error === null ? reply.code : "broken_off");
      },
      onReleased: () => reply.released?.(),
    });
  }

  function answerBeforeBody(
    exchange: Exchange,
    reply: HttpReply & { body: string | Uint8Array },
    options: WriteOptions,
    body: IncomingBody,
  ): void {
    const { response } = exchange;
    response.onAborted(() => abort(exchange));
    const done = () => finishWith(exchange, reply);
    exchange.abortStream = answerEarly(response, reply, options, { body, clock: deps.clock, done });
  }

  function send(exchange: Exchange, reply: HttpReply): void {
    const { request, response } = exchange;
    chargeRefusedBody(deps.clients, request, reply.code, deps.clock);
    const rate = limitsLeft(exchange);
    const fields = cors === null ? "" : cors.fieldsForReply(request, reply);
    const isTemplated = rate !== null && request.ownId >= 0 && reply.isHeadShared;
    const head = isTemplated ? heads.fill(reply, request.ownId, rate, fields) : null;
    const options = {
      requestId: head === null ? request.id : "",
      rate,
      cors: fields,
      head,
      headOnly: request.method === "HEAD",
      close: leaving,
      mustClose: reply.headers.Connection === "close",
    };
    if (hasStream(reply) && !options.headOnly) {
      stream(exchange, reply, options);
      return;
    }
    exchange.released = reply.released;
    if (request.incoming?.mayBringMore === true && hasWholeBody(reply)) {
      if (!options.headOnly) {
        answerBeforeBody(exchange, reply, options, request.incoming);
        return;
      }
      options.mustClose = true;
    }
    const large = options.headOnly ? null : largeBodyOf(reply);
    if (large !== null) {
      exchange.isSendingLargeBody = true;
      underWay.bodyStarted();
      response.onAborted(() => abort(exchange));
      writeWithBackPressure(response, reply, large, options, () => finishWith(exchange, reply));
      return;
    }
    writeReply(response, reply, options);
    finishWith(exchange, reply);
  }

  /** While leaving. The answer to GET has a body, and uWebSockets.js itself closes the connection behind it. */
  const mayAnswerAtOnce = ({ request }: Exchange) => request.method === "GET" || lastAnswers.isGiven();

  function start(exchange: Exchange, native: NativeRequest, known: Match | null): MaybePromise<HttpReply> {
    if (lastAnswers.isGiven()) throw behindLastAnswer();
    try {
      intake.frame(exchange.request, native, exchange.response);
    } catch (error) {
      return refuseAlone(error);
    }
    const match = intake.match(exchange.request, known);
    exchange.match = match;
    if (underWay.isDrained() && match.route.isEssential !== true)
      throw new AppError("unavailable", "This process is shutting down.", { retryAfterS: 1 });
    if (underWay.count() >= limits.requestsInFlight && match.route.isEssential !== true)
      throw new AppError("overloaded", "Too many requests are being served.", { retryAfterS: 1 });
    intake.read(exchange.request, match, native, exchange.response);
    if (!leaving || mayAnswerAtOnce(exchange)) return dispatch(gate, match.route, exchange.request);
    // Whoever is asked for it is asked after this call.
    void exchange.request.clientAddress;
    const work = () => dispatch(gate, match.route, exchange.request);
    return workAlone(work, () => exchange.isOver);
  }

  function abort(exchange: Exchange): void {
    if (exchange.isOver) return;
    exchange.abortStream?.();
    // It may have been answered before its body had come.
    if (!exchange.isOver) finish(exchange, CLIENT_CLOSED, 0, null);
    try {
      exchange.request.cancel();
    } catch (error) {
      log.error({ err: error, request_id: exchange.request.id }, "a cancellation failed");
    }
  }

  /** A request counts until its work has ended, also when its client has gone: work is what is bounded. */
  function sendLater(exchange: Exchange, pending: Promise<HttpReply>): void {
    exchange.response.onAborted(() => abort(exchange));
    underWay.started();
    void pending.then(
      (reply) => {
        if (exchange.isOver) reply.released?.();
        else exchange.response.cork(() => send(exchange, reply));
        underWay.ended();
      },
      (error: unknown) => {
        if (exchange.isOver) failures.logAfterDisconnect(error, ofRequest(exchange));
        else exchange.response.cork(() => send(exchange, problem(error, exchange)));
        underWay.ended();
      },
    );
  }

  /**
   * An answer that is there at once is written within the call, which uWebSockets.js has corked, and needs no
   * `onAborted`: nothing can happen to the connection in between.
   * @param known what it matches, where uWebSockets.js has looked that up
   */
  function serve(response: HttpResponse, native: NativeRequest, known: Match | null): void {
    longTurns.onRequestRead();
    const exchange = beginExchange(intake.begin(native, known), response);
    let answer: MaybePromise<HttpReply>;
    try {
      answer = start(exchange, native, known);
    } catch (error) {
      answer = leaving && !mayAnswerAtOnce(exchange) ? refuseAlone(error) : problem(error, exchange);
    }
    if (answer instanceof Promise) {
      exchange.request.endCall();
      sendLater(exchange, answer);
      return;
    }
    send(exchange, answer);
    if (!exchange.isOver) exchange.request.endCall();
    if (leaving && exchange.isOver && hasWholeBody(answer) && largeBodyOf(answer) === null)
      lastAnswers.given();
  }

  /** Paths without parameters are looked up by uWebSockets.js itself, which saves two calls into it and two look-ups here. */
  function registerHandlers(native: TemplatedApp): void {
    for (const match of intake.fixed) {
      const { method, path } = match.route;
      const register = NATIVE_METHODS[method];
      native[register](path, (response, request) => serve(response, request, match));
    }
    native.any("/*", (response, request) => serve(response, request, null));
  }

  return {
    async listen() {
      const { host, port } = deps.config;
      limitNativeHeaders(limits.headerBytes);
      const { default: uWS } = await import("uWebSockets.js");
      stopListening = uWS.us_listen_socket_close;
      const native = uWS.App();
      limitConnections(native, limits.connections, lastAnswers.closed);
      registerHandlers(native);
      listening = await listenExclusively<us_listen_socket>(native, host, port);
      app = native;
      // The type says "socket"; the function wants the listening one.
      return { port: uWS.us_socket_local_port(listening) };
    },
    startDraining() {
      leaving = true;
    },
    isDraining: () => leaving,
    async drain() {
      leaving = true;
      if (listening !== null) stopListening(listening);
      listening = null;
      const idle = underWay.drain();
      // At once: what would never end must not wait for the others.
      void streams.drain();
      await idle;
      await streams.drain();
    },
    close() {
      app?.close();
      app = null;
      listening = null;
    },
  };
}
