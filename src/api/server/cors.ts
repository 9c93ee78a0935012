import type { HttpReply } from "../reply/reply.ts";
import type { HttpRequest } from "../request/request.ts";

export type OriginFields = (origin: string) => string;

/** Access for pages of other origins: see `CORS_ORIGINS`. Never with credentials that a browser adds by itself. */
export interface Cors {
  /**
   * The fields for any reply except those to OPTIONS, by the request's `Origin`, "" when absent: one text for each origin.
   */
  fieldsForOrigin: OriginFields;
  /** Header fields for the reply, each with CR LF before it: "" where there is nothing to say. */
  fieldsForReply(request: HttpRequest, reply: HttpReply): string;
}

const ALLOWED_HEADERS =
  "Authorization, Content-Type, Idempotency-Key, If-Range, Last-Event-ID, Range, X-Request-Id";
const EXPOSED_HEADERS =
  "Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Location, RateLimit, " +
  "RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id";
/** Browsers keep a preflight's answer at most this long; Chromium no longer than 2 hours. */
const PREFLIGHT_S = 7_200;

/** @param origins exact ones, `https://app.example.com`; every answer varies by Origin, or caches would mix them up */
export function createCors(origins: readonly string[]): Cors {
  const vary = "\r\nVary: Origin";
  const granted = (origin: string) => `${vary}\r\nAccess-Control-Allow-Origin: ${origin}`;
  const allowed: ReadonlyMap<string, string> = new Map(
    origins.map((origin) => [
      origin,
      `${granted(origin)}\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}`,
    ]),
  );
  const fieldsFor = (origin: string) => allowed.get(origin) ?? vary;
  return {
    fieldsForOrigin: fieldsFor,
    fieldsForReply({ origin, method }, reply) {
      const methods = method === "OPTIONS" ? reply.headers.Allow : undefined;
      if (methods === undefined || !allowed.has(origin)) return fieldsFor(origin);
      return (
        `${granted(origin)}\r\nAccess-Control-Allow-Methods: ${methods}` +
        `\r\nAccess-Control-Allow-Headers: ${ALLOWED_HEADERS}\r\nAccess-Control-Max-Age: ${PREFLIGHT_S}`
      );
    },
  };
}
