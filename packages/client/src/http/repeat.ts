import type { RcptError } from "./errors.ts";
import type { PathOf } from "./paths.ts";

/**
 * POSTs that honour `Idempotency-Key`. A test holds the list to the service's description.
 */
export const KEYED_PATHS = [
  "/v1/uploads",
  "/v1/verify/bulk",
  "/v1/keys",
  "/v1/blocklist",
  "/v1/billing/subscribe",
  "/v1/webhooks",
] as const satisfies readonly PathOf<"POST">[];

/** POSTs that may be done twice, as the API describes them: they change nothing, or nothing more the second time. */
const HARMLESS_PATHS = [
  "/v1/feedback",
  "/v1/uploads/{upload}/complete",
  "/v1/uploads/{upload}/preview",
  "/v1/bulk-jobs/{id}/cancel",
  "/v1/billing/portal",
] as const satisfies readonly PathOf<"POST">[];

const HARMLESS_METHODS = ["GET", "HEAD", "PUT", "DELETE"];

export const takesKey = (method: string, path: string): boolean =>
  method === "POST" && (KEYED_PATHS as readonly string[]).includes(path);

/**
 * When a request may be repeated. `free`: whenever it may help. `keyed`: when its answer was lost, because the service
 * recognises its key; but not after a refusal that frees the key although the work may have been done. `refused`: only
 * when the answer says that nothing was done. `never`: its body has been consumed.
 */
export type Repeating = "free" | "keyed" | "refused" | "never";

export function repeatingOf(request: {
  method: string;
  path: string;
  hasKey: boolean;
  hasStream: boolean;
}): Repeating {
  const { method, path } = request;
  if (request.hasStream) return "never";
  if (HARMLESS_METHODS.includes(method)) return "free";
  if (method === "POST" && (HARMLESS_PATHS as readonly string[]).includes(path)) return "free";
  return request.hasKey && takesKey(method, path) ? "keyed" : "refused";
}

/** Refused before any work. */
const isRefusal = ({ code }: RcptError) =>
  code === "rate_limited" || code === "quota_exceeded" || code === "overloaded";

/** A server between us and the service: whether the service has seen the request is not known. */
const isGateway = ({ code, status }: RcptError) =>
  code === "http_error" && [429, 502, 503, 504].includes(status);

/**
 * Whether the same request may be sent again after this error.
 * The API says of `unavailable` that the work may have been done although the key is free: such a request is not
 * repeated unless that is harmless.
 */
export function mayRepeat(error: RcptError, repeating: Repeating): boolean {
  if (repeating === "never") return false;
  if (isRefusal(error)) return true;
  if (repeating === "refused") return false;
  if (error.code === "network_error" || isGateway(error)) return true;
  return repeating === "keyed" ? error.code === "idempotency_in_flight" : error.code === "unavailable";
}
