import type { RateLimitState } from "../../features/quota/limits-view.ts";
import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { IncomingBody } from "../body/incoming-body.ts";
import { answerEarly } from "../body/linger.ts";
import { chargeRefusedBody } from "../body/refused-bodies.ts";
import { createStreams, StreamCutOff, type Streams } from "../body/streams.ts";
import { createHeadTemplates, type HeadTemplates } from "../reply/head-template.ts";
import { createHeldAnswers, type HeldAnswerLimits, type HeldAnswers } from "../reply/held-answers.ts";
import { problemReply } from "../reply/problem.ts";
import { type BodyStream, type HttpReply, hasStream, hasWholeBody, largeBodyOf } from "../reply/reply.ts";
import {
  bodyBytes,
  headParts,
  type WriteOptions,
  writeReply,
  writeStreamHead,
  writeWithBackPressure,
} from "../reply/respond.ts";
import type { RequestIds } from "../request/request-id.ts";
import { tellsClientRate } from "../routing/route.ts";
import { type Cors, createCors } from "./cors.ts";
import type { RequestGate } from "./dispatch.ts";
import { type HttpExchange, routePatternOf } from "./http-exchange.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";
import {
  CLIENT_CLOSED,
  createRequestObserver,
  type ObserverLimits,
  type RequestObserver,
} from "./observe.ts";

export interface ReplySenderDeps {
  gate: Pick<RequestGate, "authenticate" | "isKnown" | "limitsLeft" | "publicLimitsLeft">;
  clients: ClientLimiter;
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  config: { corsOrigins: readonly string[] };
  limits: ObserverLimits & { answers: HeldAnswerLimits };
  ids: RequestIds;
  inFlight: Pick<InFlightRequests, "bodyStarted" | "bodyEnded">;
}

/** Sends replies by the kind of their body, and ends their exchanges: each is counted and logged once. */
export class ReplySender {
  readonly #deps: ReplySenderDeps;
  readonly #heads: HeadTemplates;
  readonly #observer: RequestObserver;
  readonly #streams: Streams;
  readonly #held: HeldAnswers;
  /** null: no browser's page may call. */
  readonly #cors: Cors | null;

  constructor(deps: ReplySenderDeps) {
    const { gate, clock, metrics, config } = deps;
    this.#deps = deps;
    this.#heads = createHeadTemplates(deps.ids, headParts);
    this.#observer = createRequestObserver(deps);
    this.#streams = createStreams({
      authenticate: (authorization) => gate.authenticate(authorization),
      clock,
      onCount: (streams) => metrics.httpStreams.set(streams),
    });
    this.#held = createHeldAnswers(clock, deps.limits.answers);
    this.#cors = config.corsOrigins.length > 0 ? createCors(config.corsOrigins) : null;
  }

  /**
   * The caller corks and knows that the client is still there.
   * @param close whether the connection is closed behind the answer
   */
  send(exchange: HttpExchange, answer: HttpReply, close: boolean): void {
    const { request, response } = exchange;
    const reply = request.method === "HEAD" ? answer : this.#hold(exchange, answer);
    const { clients, gate, clock } = this.#deps;
    chargeRefusedBody({ clients, isKnown: gate.isKnown }, request, reply.code, clock);
    const options = this.#optionsFor(exchange, reply, close);
    if (hasStream(reply) && !options.headOnly) {
      this.#stream(exchange, reply, options);
      return;
    }
    exchange.released = reply.released;
    if (request.incoming?.mayBringMore === true && hasWholeBody(reply)) {
      if (!options.headOnly) {
        this.#answerBeforeBody(exchange, reply, options, request.incoming);
        return;
      }
      options.mustClose = true;
    }
    const large = options.headOnly ? null : largeBodyOf(reply);
    if (large !== null) {
      this.#sendLarge(exchange, reply, large, options);
      return;
    }
    writeReply(response, reply, options);
    this.#finishWith(exchange, reply);
  }

  /** The answer, its memory taken if it is large; the refusal when no memory is left. */
  #hold(exchange: HttpExchange, answer: HttpReply): HttpReply {
    try {
      exchange.held = this.#held.hold(answer, exchange.request);
      return answer;
    } catch (error) {
      answer.released?.();
      return problemReply(error, exchange.request.id);
    }
  }

  /** Nothing here may keep the reply: the text of its body is memory beside the copy that is sent. */
  #sendLarge(exchange: HttpExchange, reply: HttpReply, body: Uint8Array, options: WriteOptions): void {
    const { response, held } = exchange;
    const { status, code } = reply;
    const bytes = body.length;
    exchange.isSendingLargeBody = true;
    this.#deps.inFlight.bodyStarted();
    response.onAborted(() => this.abort(exchange));
    held?.started(() => response.close());
    writeWithBackPressure(response, reply, body, options, {
      sentUpTo: (offset) => held?.sentUpTo(offset),
      done: () => this.#finish(exchange, status, bytes, code),
    });
  }

  /** The client has gone. Idempotent. */
  abort(exchange: HttpExchange): void {
    if (exchange.isOver) return;
    exchange.abortStream?.();
    // The answer may have been sent before the body had arrived.
    if (!exchange.isOver) this.#finish(exchange, CLIENT_CLOSED, 0, null);
    try {
      exchange.request.cancel();
    } catch (error) {
      this.#deps.log.error({ err: error, request_id: exchange.request.id }, "a cancellation failed");
    }
  }

  /** Ends streamed bodies without an end of their own; resolves when all streamed bodies have ended. */
  drainStreams(): Promise<void> {
    return this.#streams.drain();
  }

  #optionsFor(exchange: HttpExchange, reply: HttpReply, close: boolean): WriteOptions {
    const { request } = exchange;
    const rate = this.#limitsLeft(exchange);
    const cors = this.#cors === null ? "" : this.#cors.fieldsForReply(request, reply);
    const isTemplated = rate !== null && request.ownId >= 0 && reply.isHeadShared;
    const head = isTemplated ? this.#heads.fill(reply, request.ownId, rate, cors) : null;
    return {
      requestId: head === null ? request.id : "",
      rate,
      cors,
      head,
      headOnly: request.method === "HEAD",
      close,
      mustClose: reply.headers.Connection === "close",
    };
  }

  /** An answer is worth more than its limits' description, and an exception here would end the process. */
  #limitsLeft({ request, match }: HttpExchange): RateLimitState | null {
    if (match === null) return null;
    const { gate, clock } = this.#deps;
    const { route } = match;
    try {
      if (route.access === "public")
        return tellsClientRate(route)
          ? gate.publicLimitsLeft(request.clientAddress, clock.monotonic())
          : null;
      return request.actor === null ? null : gate.limitsLeft(request.actor, route.rate);
    } catch (error) {
      this.#deps.log.error({ err: error, request_id: request.id }, "the rate limit could not be described");
      return null;
    }
  }

  /** Starts the body. Its bytes are counted and its outcome is recorded when it ends. */
  #stream(exchange: HttpExchange, reply: HttpReply & { body: BodyStream }, options: WriteOptions): void {
    const { clock } = this.#deps;
    const { request, response } = exchange;
    let bytes = 0;
    response.onAborted(() => this.abort(exchange));
    writeStreamHead(response, reply, options);
    exchange.headMs = clock.monotonic() - request.startedMs;
    exchange.abortStream = this.#streams.start({
      response,
      body: reply.body,
      authorization: request.actor === null ? null : (request.headers.authorization ?? ""),
      onSent: (more) => {
        bytes += more;
      },
      onEnded: (error) => {
        if (error !== null) this.#logBrokenOff(exchange, error);
        this.#finish(exchange, reply.status, bytes, error === null ? reply.code : "broken_off");
      },
      onReleased: () => reply.released?.(),
    });
  }

  /** That a client was too slow, or its credential revoked, is no error. */
  #logBrokenOff({ request, match }: HttpExchange, error: unknown): void {
    const { log } = this.#deps;
    const seen = { request_id: request.id, route: match?.route.path };
    if (error instanceof StreamCutOff) log.info({ ...seen, reason: error.message }, "a body was cut off");
    else log.error({ ...seen, err: error }, "a body broke off");
  }

  #answerBeforeBody(
    exchange: HttpExchange,
    reply: HttpReply & { body: string | Uint8Array },
    options: WriteOptions,
    body: IncomingBody,
  ): void {
    const { response } = exchange;
    response.onAborted(() => this.abort(exchange));
    const done = () => this.#finishWith(exchange, reply);
    exchange.abortStream = answerEarly(response, reply, options, { body, clock: this.#deps.clock, done });
  }

  #finishWith(exchange: HttpExchange, reply: HttpReply): void {
    this.#finish(exchange, reply.status, bodyBytes(reply), reply.code);
  }

  #finish(exchange: HttpExchange, status: number, bytes: number, code: string | null): void {
    exchange.isOver = true;
    exchange.released?.();
    exchange.released = null;
    exchange.held?.ended();
    exchange.held = null;
    exchange.request.body?.abandon();
    exchange.request.incoming?.abandon();
    this.#observer.recordFinished(exchange.request, routePatternOf(exchange), {
      status,
      bytes,
      code,
      headMs: exchange.headMs,
    });
    if (exchange.isSendingLargeBody) this.#deps.inFlight.bodyEnded();
  }
}
