import * as v from "valibot";
import { HttpReply } from "../reply/reply.ts";
import {
  ACCEPT_INVITE_PAGE,
  CONFIRM_REGISTRATION_PAGE,
  type PortalPage,
  RESET_PASSWORD_PAGE,
} from "../routing/portal-page.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";

const HTML = "text/html; charset=utf-8";

function pageRoute(
  about: { path: string; operationId: string; summary: string },
  { html, contentSecurityPolicy }: PortalPage,
): PublicRoute {
  const reply = new HttpReply(200, html, {
    contentType: HTML,
    headers: {
      "Content-Security-Policy": contentSecurityPolicy,
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-cache",
    },
  });
  return publicRoute({
    ...about,
    method: "GET",
    tag: "auth",
    internal: true,
    rate: "client",
    errors: [],
    query: "ignored",
    success: { status: 200, description: "The page", contentType: HTML, schema: v.string() },
    handler: () => reply,
  });
}

/** Where the links of mails lead, for people who have no other portal. */
export function createPortalPageRoutes(): PublicRoute[] {
  return [
    pageRoute(
      {
        path: "/accept-invite",
        operationId: "getAcceptInvitePage",
        summary: "The page of an invitation's link",
      },
      ACCEPT_INVITE_PAGE,
    ),
    pageRoute(
      {
        path: "/confirm-registration",
        operationId: "getConfirmRegistrationPage",
        summary: "The page of a registration's link",
      },
      CONFIRM_REGISTRATION_PAGE,
    ),
    pageRoute(
      {
        path: "/reset-password",
        operationId: "getResetPasswordPage",
        summary: "The page of a new password's link",
      },
      RESET_PASSWORD_PAGE,
    ),
  ];
}
