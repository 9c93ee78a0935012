/**
 * The HTTP server: the only importer of uWebSockets.js. All other code works on plain requests and replies.
 *
 * uWebSockets.js does the following by itself, and we cannot change it from here:
 * - It cuts off slow clients. A request's header must be complete 10 to 12 s after its first byte, and an idle connection
 *   lasts as long. A body must come at 16 KB/s or more (we require more, and answer 408 before that: body-pace.ts). A client
 *   that takes nothing of a large answer is cut off after 10 to 12 s (we also cut off one that takes it too slowly:
 *   held-answers.ts, streams.ts). There is no such limit while a handler works, or a
 *   stream has nothing to send.
 * - It answers `Expect: 100-continue` before we see the request. It answers HTTP/1.0 and older with 505, in words, and closes.
 * - It refuses a header over `LIMITS.http.headerBytes` with 431, and a malformed request line with 400 or 505, both with
 *   `Connection: close`. A header that comes in one piece may be larger, since it is never stored. More than 100 fields, a
 *   missing Host or a NUL in a field get no answer: the connection is closed when its time is up.
 * - It serves pipelined requests in order while the answers come at once. A request that arrives while the one before it is
 *   in progress closes the connection, which cancels that work. Answers are never mixed up.
 */

import type {
  HttpResponse,
  HttpRequest as NativeRequest,
  TemplatedApp,
  us_listen_socket,
} from "uWebSockets.js";
import { limitNativeHeaders } from "../../config/config.ts";
import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Tracer } from "../../platform/telemetry/tracing.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { behindLastAnswer, createLastAnswers, refuseAlone, workAlone } from "../body/alone.ts";
import { createFailureReplies, type FailureReplies } from "../reply/failure-replies.ts";
import type { HeldAnswerLimits } from "../reply/held-answers.ts";
import { type HttpReply, hasWholeBody } from "../reply/reply.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { createRequestIds } from "../request/request-id.ts";
import type { Route } from "../routing/route.ts";
import type { Match } from "../routing/router.ts";
import { dispatch, type RequestGate } from "./dispatch.ts";
import { beginExchange, type HttpExchange, routePatternOf } from "./http-exchange.ts";
import { createInFlightRequests } from "./in-flight-requests.ts";
import { createIntake, type Intake, type IntakeLimits } from "./intake.ts";
import { limitConnections, listenExclusively } from "./listen.ts";
import { createLongTicks } from "./long-ticks.ts";
import type { ObserverLimits } from "./observe.ts";
import { ReplySender } from "./reply-sender.ts";

export interface HttpServer {
  /** Listens, alone on its port. @throws Error when it cannot */
  listen(): Promise<{ port: number }>;
  /**
   * From now on every answer closes its connection, so that a client that keeps one open reconnects, through a load
   * balancer to another process. Requests are served as before.
   */
  startDraining(): void;
  isDraining(): boolean;
  /**
   * Leaves and stops listening. Resolves when no request is in flight, and clients have taken their bodies or have
   * disconnected. Later requests over open connections are refused with 503.
   */
  drain(): Promise<void>;
  /** Closes whatever is still open. Idempotent. */
  close(): void;
}

export interface HttpLimits extends IntakeLimits, ObserverLimits {
  answers: HeldAnswerLimits;
  headerBytes: number;
  /** Connections beyond this are closed as they come. */
  connections: number;
  /** Maximum requests in progress, those of disconnected clients included; further ones are refused with 503. */
  requestsInFlight: number;
}

export interface HttpServerDeps {
  routes: readonly Route[];
  gate: RequestGate;
  /** Charged for refused bodies, and consulted before the body of an unauthenticated request is read. */
  clients: ClientLimiter;
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  /** True for errors of an unreachable store: a 503, not our fault. */
  isOutage(error: unknown): boolean;
  /** Absent: nothing is traced. */
  tracer?: Tracer | null;
  config: {
    host: string;
    port: number;
    trustedProxies: readonly string[];
    /** Origins whose pages may call the API; empty: none. */
    corsOrigins: readonly string[];
  };
  limits: HttpLimits;
}

/** Names of the methods in uWebSockets.js. */
const NATIVE_METHODS = { GET: "get", POST: "post", PUT: "put", PATCH: "patch", DELETE: "del" } as const;

/** One per process: the event loop is shared by all servers on it. */
const longTicks = createLongTicks();

function describe(exchange: HttpExchange): { id: string; route: string } {
  return { id: exchange.request.id, route: routePatternOf(exchange) };
}

class UwsServer implements HttpServer {
  readonly #deps: HttpServerDeps;
  readonly #intake: Intake;
  readonly #sender: ReplySender;
  readonly #failures: FailureReplies;
  readonly #inFlight = createInFlightRequests();
  readonly #lastAnswers = createLastAnswers();
  /** Every answer closes its connection. */
  #leaving = false;
  #app: TemplatedApp | null = null;
  #listening: us_listen_socket | null = null;
  #stopListening = (_socket: us_listen_socket) => {};

  constructor(deps: HttpServerDeps) {
    const ids = createRequestIds();
    this.#deps = deps;
    this.#intake = createIntake({ ...deps, ids });
    this.#sender = new ReplySender({ ...deps, ids, inFlight: this.#inFlight });
    this.#failures = createFailureReplies(deps);
    deps.metrics.httpInFlight.readFrom(() => this.#inFlight.count());
  }

  async listen(): Promise<{ port: number }> {
    const { config, limits } = this.#deps;
    limitNativeHeaders(limits.headerBytes);
    const { default: uWS } = await import("uWebSockets.js");
    this.#stopListening = uWS.us_listen_socket_close;
    const native = uWS.App();
    limitConnections(native, limits.connections, this.#lastAnswers.closed);
    this.#registerHandlers(native);
    this.#listening = await listenExclusively<us_listen_socket>(native, config.host, config.port);
    this.#app = native;
    // The type says "socket"; the function wants the listening one.
    return { port: uWS.us_socket_local_port(this.#listening) };
  }

  /** Paths without parameters are looked up by uWebSockets.js itself, which saves two calls into it and two look-ups here. */
  #registerHandlers(native: TemplatedApp): void {
    for (const match of this.#intake.fixed) {
      const { method, path } = match.route;
      const register = NATIVE_METHODS[method];
      native[register](path, (response, request) => this.#serve(response, request, match));
    }
    native.any("/*", (response, request) => this.#serve(response, request, null));
  }

  /**
   * Serves a request. An answer that is ready at once is written within the call, which uWebSockets.js has corked. It needs
   * no `onAborted`: the connection cannot change within the call.
   * @param known the matched route, if uWebSockets.js has looked it up
   */
  #serve(response: HttpResponse, native: NativeRequest, known: Match | null): void {
    longTicks.onRequestRead();
    const exchange = beginExchange(this.#intake.begin(native, known), response);
    let answer: MaybePromise<HttpReply>;
    try {
      answer = this.#start(exchange, native, known);
    } catch (error) {
      answer =
        this.#leaving && !this.#mayAnswerAtOnce(exchange)
          ? refuseAlone(error)
          : this.#failures.replyTo(error, describe(exchange));
    }
    if (answer instanceof Promise) {
      exchange.request.endCall();
      this.#sendLater(exchange, answer);
      return;
    }
    this.#sender.send(exchange, answer, this.#leaving);
    if (!exchange.isOver) exchange.request.endCall();
    if (this.#leaving && exchange.isOver && hasWholeBody(answer) && !exchange.isSendingLargeBody)
      this.#lastAnswers.given();
  }

  #start(exchange: HttpExchange, native: NativeRequest, known: Match | null): MaybePromise<HttpReply> {
    const { gate } = this.#deps;
    const { request, response } = exchange;
    if (this.#lastAnswers.isGiven()) throw behindLastAnswer();
    try {
      this.#intake.frame(request, native, response);
    } catch (error) {
      return refuseAlone(error);
    }
    const match = this.#intake.match(request, known);
    exchange.match = match;
    if (match.route.isEssential !== true) this.#refuseIfFull();
    this.#intake.read(request, match, native, response);
    if (!this.#leaving || this.#mayAnswerAtOnce(exchange)) return dispatch(gate, match.route, request);
    // Reads the client's address now: after this call it cannot be read any more.
    void request.clientAddress;
    const work = () => dispatch(gate, match.route, request);
    return workAlone(work, () => exchange.isOver);
  }

  #refuseIfFull(): void {
    if (this.#inFlight.isDrained())
      throw new AppError("unavailable", "This process is shutting down.", { retryAfterS: 1 });
    if (this.#inFlight.count() >= this.#deps.limits.requestsInFlight)
      throw new AppError("overloaded", "Too many requests are being served.", { retryAfterS: 1 });
  }

  /** While leaving. The answer to GET has a body, and uWebSockets.js itself closes the connection behind it. */
  #mayAnswerAtOnce({ request }: HttpExchange): boolean {
    return request.method === "GET" || this.#lastAnswers.isGiven();
  }

  /** A request counts until its work has ended, even if its client has disconnected: the limit is on work. */
  #sendLater(exchange: HttpExchange, pending: Promise<HttpReply>): void {
    const { response } = exchange;
    const send = (reply: HttpReply) => response.cork(() => this.#sender.send(exchange, reply, this.#leaving));
    response.onAborted(() => this.#sender.abort(exchange));
    this.#inFlight.started();
    void pending.then(
      (reply) => {
        if (exchange.isOver) reply.released?.();
        else send(reply);
        this.#inFlight.ended();
      },
      (error: unknown) => {
        if (exchange.isOver) this.#failures.logAfterDisconnect(error, describe(exchange));
        else send(this.#failures.replyTo(error, describe(exchange)));
        this.#inFlight.ended();
      },
    );
  }

  startDraining(): void {
    this.#leaving = true;
  }

  isDraining(): boolean {
    return this.#leaving;
  }

  async drain(): Promise<void> {
    this.#leaving = true;
    if (this.#listening !== null) this.#stopListening(this.#listening);
    this.#listening = null;
    const idle = this.#inFlight.drain();
    // Without waiting: endless streams must not wait for the others.
    void this.#sender.drainStreams();
    await idle;
    await this.#sender.drainStreams();
  }

  close(): void {
    this.#app?.close();
    this.#app = null;
    this.#listening = null;
  }
}

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  return new UwsServer(deps);
}
