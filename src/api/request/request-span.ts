import type { Span } from "../../platform/telemetry/tracing.ts";
import type { HttpReply } from "../reply/reply.ts";
import type { HttpRequest } from "./request.ts";

type StartedRequest = Pick<HttpRequest, "method" | "startedMs" | "sampled" | "span">;
type EndedRequest = Pick<HttpRequest, "id" | "actor" | "note"> & { span: Span };

/**
 * Starts the span of an authenticated request. Spans of unauthenticated requests have a share of their own, so that
 * they cannot use up the budget of recorded requests.
 * @param hasWaited authentication took time
 */
export function beginRequestSpan(request: StartedRequest, hasWaited: boolean): void {
  const { sampled, method, startedMs } = request;
  if (sampled === null) return;
  request.sampled = null;
  request.span = sampled.by.startRequest(method, sampled.as, startedMs);
  if (hasWaited) request.span?.child("authenticate", { kind: "client", startMs: startedMs }).end();
}

/**
 * The span of a request that has ended; null: it is not recorded. A request that is not authenticated by now is recorded as
 * an unauthenticated one.
 */
export function spanOfEnded(
  request: Pick<StartedRequest, "method" | "startedMs"> & Partial<StartedRequest>,
): Span | null {
  const { sampled = null, span = null, method, startedMs } = request;
  if (sampled === null) return span;
  request.sampled = null;
  return sampled.by.startUnauthenticatedRequest(method, sampled.as, startedMs);
}

/** Ends the span of a request, with the fields of its log line under OpenTelemetry's names, where those exist. */
export function endRequestSpan(
  request: EndedRequest,
  method: string,
  route: string,
  outcome: Pick<HttpReply, "status" | "code"> & { bytes: number },
): void {
  const { span, actor, note, id } = request;
  const { status, code, bytes } = outcome;
  span.rename(`${method} ${route}`);
  span.set({
    ...{ "http.request.method": method, "http.route": route, "http.response.status_code": status },
    ...{ "http.response.body.size": bytes, "rcpt.request.id": id },
    ...(actor === null
      ? {}
      : { "rcpt.team.id": actor.teamId, "rcpt.key.id": actor.keyId, "rcpt.tier": actor.tier }),
    ...(note === null ? {} : { "rcpt.verdict": note.result.verdict, "rcpt.reason": note.result.reason }),
    ...(note === null ? {} : { "rcpt.cached": note.result.cached }),
    ...(code === null ? {} : { "error.type": code }),
  });
  if (status >= 500) span.fail(code ?? String(status));
  span.end();
}
