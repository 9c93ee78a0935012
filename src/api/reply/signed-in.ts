import type { SignedIn } from "../../features/accounts/portal-session.ts";
import { NO_SESSION_COOKIE, sessionCookie } from "../request/portal-session.ts";
import type { Context } from "../routing/route.ts";
import { HttpReply } from "./reply.ts";

/** The answer to a sign-in. In the portal the token is a cookie of the browser, which no script can read. */
export function signedInReply<T extends SignedIn>(
  status: number,
  signedIn: T,
  { isFromPortal }: Context,
): HttpReply {
  if (!isFromPortal) return new HttpReply(status, JSON.stringify(signedIn));
  const { token, expires_at } = signedIn.session;
  const shown = { ...signedIn, session: { token: null, expires_at } };
  return new HttpReply(status, JSON.stringify(shown), {
    headers: { "Set-Cookie": sessionCookie(token, expires_at) },
  });
}

/** The session has ended. */
export function signedOutReply({ isFromPortal }: Context): HttpReply {
  return new HttpReply(204, null, isFromPortal ? { headers: { "Set-Cookie": NO_SESSION_COOKIE } } : {});
}
