/**
 * Paths of the portal's pages, some of which mails link to. All have the same HTML page; its script shows the page for the
 * path and reads the parameters. `portal/src/router.tsx` has the same list, and a test compares them.
 */
export const PORTAL_PATHS: readonly string[] = [
  "/",
  "/sign-in",
  "/register",
  "/confirm-registration",
  "/accept-invite",
  "/forgot-password",
  "/reset-password",
  "/verify",
  "/lists",
  "/lists/new",
  "/lists/{id}",
  "/usage",
  "/accuracy",
  "/keys",
  "/team",
  "/blocklist",
  "/overrides",
  "/billing",
  "/webhooks",
  "/settings",
  "/deployment",
];

/**
 * A policy can name hosts and IPv4 addresses alone (CSP 3, host-source), and `http:` would allow every host. Pages then find
 * object storage out of reach, and send files through the API.
 */
const isNameable = (origin: string) => !new URL(origin).hostname.startsWith("[");

/**
 * Nothing inline, nothing of another host, no text that becomes markup.
 * @param uploadOrigin where pages send files by presigned URLs; null: nowhere
 */
export const portalPolicy = (uploadOrigin: string | null): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    uploadOrigin !== null && isNameable(uploadOrigin)
      ? `connect-src 'self' ${uploadOrigin}`
      : "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
