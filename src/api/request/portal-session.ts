import type { FieldSource } from "./request-fields.ts";

/** The methods of uWebSockets.js' request that are needed here. */
export interface HeaderSource extends FieldSource {
  getHeader(name: string): string;
}

/** The session of a person in a browser. `__Host-`: over TLS (or on this machine), for this host alone, for all its paths. */
const SESSION_COOKIE = "__Host-rcpt_session";
/** Sent by the portal's scripts with each request: no other site's page can add it without asking first (CORS). */
const PORTAL_HEADER = "x-rcpt-portal";
/**
 * Only the separators that browsers write are accepted: other spaces could hide a name that browsers did not take for ours.
 */
const COOKIE = new RegExp(`(?:^|; ?)${SESSION_COOKIE}=(\\w*)(?=;|$)`, "g");
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict";

/** The origin of a request, as far as it concerns the portal. */
export interface PortalRequest {
  /** A script of the portal sent it. */
  isFromPortal: boolean;
  /** The session in its cookie, where the cookie counts; null: no session. */
  token: string | null;
}

const NOT_PORTAL: PortalRequest = Object.freeze({ isFromPortal: false, token: null });

function isSameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host.toLowerCase();
  } catch {
    return false;
  }
}

/**
 * True when the requesting page is of this origin, as far as the browser tells. Browsers send at least one of the two
 * fields.
 */
function isOfThisOrigin(source: HeaderSource): boolean {
  const site = source.getHeader("sec-fetch-site");
  if (site !== "") return site === "same-origin";
  const origin = source.getHeader("origin");
  return origin === "" || isSameHost(origin, source.getHeader("host"));
}

/**
 * A browser adds the cookie to requests of any page. So the cookie counts only for requests of the portal's scripts, and
 * for links of its pages.
 */
export function readPortalRequest(method: string, source: HeaderSource): PortalRequest {
  const isScript = source.getHeader(PORTAL_HEADER) !== "";
  const isLink =
    method === "GET" &&
    source.getHeader("sec-fetch-site") === "same-origin" &&
    source.getHeader("sec-fetch-mode") === "navigate";
  if (!(isScript || isLink) || !isOfThisOrigin(source)) return NOT_PORTAL;
  const tokens = [...source.getHeader("cookie").matchAll(COOKIE)].map(([, token = ""]) => token);
  // Two cookies of this name: one is not ours, so neither counts.
  return { isFromPortal: isScript, token: (tokens.length === 1 && tokens[0]) || null };
}

/** The value of `Set-Cookie` that begins a session. @param expiresAt ISO 8601 */
export function sessionCookie(token: string, expiresAt: string): string {
  return `${SESSION_COOKIE}=${token}; Expires=${new Date(expiresAt).toUTCString()}; ${ATTRIBUTES}`;
}

/** The value of `Set-Cookie` that ends it. */
export const NO_SESSION_COOKIE = `${SESSION_COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;
