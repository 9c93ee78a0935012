import type { Span } from "../core/tracing.ts";
import type { Reply } from "./reply.ts";
import type { HttpRequest } from "./request.ts";

type Ended = Pick<HttpRequest, "id" | "actor" | "note"> & { span: Span };

/** The request is over: its span says what its line in the log says, by OpenTelemetry's names where it has some. */
export function endRequestSpan(
  request: Ended,
  method: string,
  route: string,
  outcome: Pick<Reply, "status" | "code"> & { bytes: number },
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
