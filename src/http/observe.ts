import type { Counter, Histogram } from "prom-client";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { HttpRequest } from "./request.ts";

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

export interface Outcome {
  status: number;
  /** Body bytes. */
  bytes: number;
  /** Error code of a problem. */
  code: string | null;
  /** Of a body that was streamed: how long its head took, which is what the caller waited for. null: of no other. */
  headMs: number | null;
}

export interface RequestObserver {
  /** Counts a request that has ended and, if it is worth a line, logs it. `route` is its pattern. */
  finished(request: HttpRequest, route: string, outcome: Outcome): void;
}

export interface ObserverLimits {
  logSampleEvery: number;
  refusalQuietMs: number;
  slowRequestMs: number;
}

type Increment = Pick<Counter.Internal, "inc">;

/** The series of one route, looked up by labels once: hashing labels costs more than counting. */
interface RouteSeries {
  seconds: Pick<Histogram.Internal<"route">, "observe">;
  /** By method, then status. */
  requests: Map<string, Map<number, Increment>>;
}

/**
 * One wide event per request: never the path's parameters, the query or an address. Failures and slow ones always. Of
 * the successes one in `logSampleEvery`, since at full speed a line each would cost more than the answer; of the
 * refusals too, which strangers can have as many of as they like, and besides the first after a quiet time.
 */
export function createRequestObserver(deps: {
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  limits: ObserverLimits;
}): RequestObserver {
  const { log, metrics, clock, limits } = deps;
  const routes = new Map<string, RouteSeries>();
  let successes = 0;
  let refusals = 0;
  let refusalLoggedMs = Number.NEGATIVE_INFINITY;

  function seriesOf(route: string): RouteSeries {
    let series = routes.get(route);
    if (series === undefined) {
      series = { seconds: metrics.httpSeconds.labels(route), requests: new Map() };
      routes.set(route, series);
    }
    return series;
  }

  function requestsOf({ requests }: RouteSeries, route: string, method: string, status: number): Increment {
    let byStatus = requests.get(method);
    if (byStatus === undefined) {
      byStatus = new Map();
      requests.set(method, byStatus);
    }
    let counter = byStatus.get(status);
    if (counter === undefined) {
      counter = metrics.httpRequests.labels({ route, method, status });
      byStatus.set(status, counter);
    }
    return counter;
  }

  function isWorthALine(status: number, ms: number, nowMs: number): boolean {
    if (status >= 500 || ms >= limits.slowRequestMs) return true;
    if (status < 400) return ++successes % limits.logSampleEvery === 0;
    const isSample = ++refusals % limits.logSampleEvery === 0;
    if (!isSample && nowMs - refusalLoggedMs < limits.refusalQuietMs) return false;
    refusalLoggedMs = nowMs;
    return true;
  }

  return {
    finished(request, route, { status, bytes, code, headMs }) {
      const nowMs = clock.monotonic();
      const ms = nowMs - request.startedMs;
      // A label must be of a closed set, and a method is whatever the client wrote.
      const method = KNOWN_METHODS.has(request.method) ? request.method : "other";
      const series = seriesOf(route);
      requestsOf(series, route, method, status).inc();
      series.seconds.observe((headMs ?? ms) / 1000);
      if (!isWorthALine(status, headMs ?? ms, nowMs)) return;
      const event = {
        request_id: request.id,
        method,
        route,
        status,
        ms: Math.round(ms * 100) / 100,
        bytes,
        ...(code === null ? {} : { code }),
        ...(request.actor === null ? {} : { team_id: request.actor.teamId, key_id: request.actor.keyId }),
      };
      if (status >= 500) log.error(event, "request failed");
      else if (status >= 400) log.warn(event, "request refused");
      else log.info(event, "request");
    },
  };
}
