import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import type { ErrorCode } from "../../platform/errors.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { HttpRequest } from "../request/request.ts";

/** Error codes of bodies that were sent in vain. Unknown credentials are charged where they are looked up. */
const REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  "body_too_large",
  "invalid_signature",
  "malformed_json",
  "request_timeout",
  "unsupported_media_type",
]);

/** These count unless the credential is known to be good: a team may mistype a path, and its actor is not known then. */
const REFUSED_WITHOUT_CREDENTIAL: ReadonlySet<string> = new Set<ErrorCode>([
  "method_not_allowed",
  "not_found",
]);

/**
 * Charges a refused body to the address of the client. A team's body is not charged: the team has a rate of its own, and
 * may share the address with others.
 * @param isKnown see `Authenticator.isKnown`
 * @param code the refusal; null: the request was not refused
 */
export function chargeRefusedBody(
  { clients, isKnown }: { clients: ClientLimiter; isKnown(authorization: string): boolean },
  request: HttpRequest,
  code: string | null,
  clock: Pick<Clock, "monotonic">,
): void {
  if (code === null || request.incoming === null || request.actor !== null) return;
  const { authorization } = request.headers;
  const isRefused =
    REFUSED.has(code) ||
    (code === "unauthorized" && authorization === undefined) ||
    (REFUSED_WITHOUT_CREDENTIAL.has(code) && !isKnown(authorization ?? ""));
  if (!isRefused) return;
  clients.charge(request.clientAddress, 1, clock.monotonic());
}
