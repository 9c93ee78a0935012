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
}

export interface RequestObserver {
  /** Counts a request that has ended and, if it is worth a line, logs it. `route` is its pattern. */
  finished(request: HttpRequest, route: string, outcome: Outcome): void;
}

export interface ObserverLimits {
  logSampleEvery: number;
  slowRequestMs: number;
}

/**
 * One wide event per request: never the path's parameters, the query or an address. Failures and slow ones always,
 * of the rest one in `sampleEvery`, since at full speed a line per success would cost more than the answer.
 */
export function createRequestObserver(deps: {
  log: Logger;
  metrics: Metrics;
  clock: Clock;
  limits: ObserverLimits;
}): RequestObserver {
  const { log, metrics, clock, limits } = deps;
  const seconds = new Map<string, { observe(value: number): void }>();
  let untilSample = 0;

  function observeSeconds(route: string, ms: number): void {
    let series = seconds.get(route);
    if (series === undefined) {
      series = metrics.httpSeconds.labels(route);
      seconds.set(route, series);
    }
    series.observe(ms / 1000);
  }

  function isWorthALine(status: number, ms: number): boolean {
    if (status >= 400 || ms >= limits.slowRequestMs) return true;
    untilSample = untilSample === 0 ? limits.logSampleEvery - 1 : untilSample - 1;
    return untilSample === 0;
  }

  return {
    finished(request, route, { status, bytes, code }) {
      const ms = clock.monotonic() - request.startedMs;
      // A label must be of a closed set, and a method is whatever the client wrote.
      const method = KNOWN_METHODS.has(request.method) ? request.method : "other";
      metrics.httpRequests.inc({ route, method, status });
      observeSeconds(route, ms);
      if (!isWorthALine(status, ms)) return;
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
