import type { DurationSeries } from "../../config/durations.ts";
import type { Actor } from "../../features/identity/actor.ts";
import type { Logger } from "../../platform/log.ts";
import type { CountCell } from "../../platform/telemetry/custom-metrics.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { answerLogFields, roundToHundredths } from "../reply/answer-log-fields.ts";
import type { HttpRequest } from "../request/request.ts";
import { endRequestSpan, spanOfEnded } from "../request/request-span.ts";

const KNOWN_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** The status that logs and metrics show for a request whose client went away before the answer. */
export const CLIENT_CLOSED = 499;

export interface RequestOutcome {
  status: number;
  /** Body bytes. */
  bytes: number;
  /** Error code of a problem. */
  code: string | null;
  /** Time to the head of a streamed body, for which the caller waited, in milliseconds; null: the body was not streamed. */
  headMs: number | null;
}

/** A request as far as its line in the log names it. */
export type ObservedRequest = Pick<HttpRequest, "id" | "method" | "startedMs" | "actor"> &
  Partial<Pick<HttpRequest, "note" | "sampled" | "span">>;

export interface RequestObserver {
  /** Counts a request that has ended and, if it is worth a line, logs it. `route` is its pattern. */
  recordFinished(request: ObservedRequest, route: string, outcome: RequestOutcome): void;
}

export interface ObserverLimits {
  logSampleEvery: number;
  successQuietMs: number;
  refusalQuietMs: number;
  slowRequestMs: number;
}

interface LogLine {
  id: string;
  method: string;
  route: string;
  ms: number;
  actor: Actor | null;
}

function actorFields({ teamId, keyId, isSession, tier, livemode }: Actor): Record<string, unknown> {
  const by = isSession ? "session" : "key";
  return { team_id: teamId, key_id: keyId, credential: by, tier, livemode };
}

/** The series of one route, looked up by labels once: hashing labels costs more than counting. */
class RouteSeries {
  readonly seconds: DurationSeries;
  readonly #metrics: Metrics;
  readonly #route: string;
  /** Counts by method, then status. */
  readonly #requests = new Map<string, Map<number, CountCell>>();

  constructor(metrics: Metrics, route: string) {
    this.#metrics = metrics;
    this.#route = route;
    this.seconds = metrics.httpSeconds.seriesOf(route);
  }

  /** @param method one of the closed set: a label */
  requests(method: string, status: number): CountCell {
    let byStatus = this.#requests.get(method);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#requests.set(method, byStatus);
    }
    let counter = byStatus.get(status);
    if (counter === undefined) {
      counter = this.#metrics.httpRequests.tally({ route: this.#route, method, status });
      byStatus.set(status, counter);
    }
    return counter;
  }
}

/**
 * Chooses the requests that are logged. Failures and slow requests always; a 503 `overloaded` does not count as a failure
 * here.
 *
 * A line costs as much as twenty cached answers, and 10 a second are as informative as 1 000. So one success in
 * `logSampleEvery` is logged, and none within `successQuietMs` of the last. Refusals are sampled at the same rate, since
 * clients without a credential can cause any number. The first one after a quiet time is logged too.
 */
class LogSample {
  readonly #limits: ObserverLimits;
  #successes = 0;
  #successLoggedMs = Number.NEGATIVE_INFINITY;
  #refusals = 0;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: ObserverLimits) {
    this.#limits = limits;
  }

  /** Call it once for each request that has ended. */
  isLogged(status: number, code: string | null, ms: number, nowMs: number): boolean {
    const { slowRequestMs, logSampleEvery, successQuietMs, refusalQuietMs } = this.#limits;
    // Overload causes refusals by the thousand: a log line for each would add to it.
    if ((status >= 500 && code !== "overloaded") || ms >= slowRequestMs) return true;
    if (status < 400) {
      if (++this.#successes % logSampleEvery !== 0 || nowMs - this.#successLoggedMs < successQuietMs)
        return false;
      this.#successLoggedMs = nowMs;
      return true;
    }
    const isSample = ++this.#refusals % logSampleEvery === 0;
    if (!isSample && nowMs - this.#refusalLoggedMs < refusalQuietMs) return false;
    this.#refusalLoggedMs = nowMs;
    return true;
  }
}

function write(
  log: Logger,
  about: LogLine,
  { status, bytes, code, headMs }: RequestOutcome,
  more: Record<string, unknown>,
): void {
  const { id, method, route, ms, actor } = about;
  const event = {
    request_id: id,
    method,
    route,
    status,
    ms: roundToHundredths(ms),
    ...(headMs === null ? {} : { head_ms: roundToHundredths(headMs) }),
    bytes,
    ...(code === null ? {} : { code }),
    ...(actor === null ? {} : actorFields(actor)),
    ...more,
  };
  if (status >= 500) log.error(event, "request failed");
  else if (status === CLIENT_CLOSED) log.warn(event, "client closed the connection before its answer");
  else if (status >= 400) log.warn(event, "request refused");
  else log.info(event, "request");
}

/** One wide event per request that `LogSample` chooses: never the path's parameters, the query or an address. */
export function createRequestObserver(deps: {
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  limits: ObserverLimits;
}): RequestObserver {
  const { log, metrics, clock, limits } = deps;
  const routes = new Map<string, RouteSeries>();
  const sample = new LogSample(limits);

  function seriesOf(route: string): RouteSeries {
    let series = routes.get(route);
    if (series === undefined) {
      series = new RouteSeries(metrics, route);
      routes.set(route, series);
    }
    return series;
  }

  return {
    recordFinished(request, route, outcome) {
      const { status, headMs } = outcome;
      const nowMs = clock.monotonic();
      const ms = nowMs - request.startedMs;
      // A label must be of a closed set, but a client may send any method.
      const method = KNOWN_METHODS.has(request.method) ? request.method : "other";
      const series = seriesOf(route);
      series.requests(method, status).count += 1;
      series.seconds.observe((headMs ?? ms) / 1000);
      const span = spanOfEnded(request);
      const isWritten = sample.isLogged(status, outcome.code, headMs ?? ms, nowMs);
      if (!isWritten && span === null) return;
      // Asked for here alone, since it has to be put together.
      const { id, actor, note = null } = request;
      if (isWritten)
        write(log, { id, method, route, ms, actor }, outcome, {
          ...(note === null ? {} : answerLogFields(note)),
          ...(span === null ? {} : { trace_id: span.traceId }),
        });
      if (span !== null) endRequestSpan({ id, actor, note, span }, method, route, outcome);
    },
  };
}
