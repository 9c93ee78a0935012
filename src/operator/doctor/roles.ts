import type { Config } from "../../config/config.ts";

type Role = Config["role"];

/**
 * Parts of the service's work, and the roles that do them. A process has only what its role needs, and reaches only the
 * services of its role. In `k8s/` only some roles have secrets or access to the mail server. So a missing part that only
 * another role needs is not a fault.
 */
const ROLES_OF = {
  /** Answers requests, and has to be left by balancers before it ends. */
  requests: ["api", "all"],
  /** Seals or opens data stored under SECRETS_KEY. */
  secrets: ["api", "relay", "all"],
  /** Hands mails to SMTP_OUT_URL. */
  mails: ["relay", "all"],
  /** Asks DNS and mail servers about addresses. */
  probes: ["api", "bulk", "all"],
} as const satisfies Record<string, readonly Role[]>;

export function concerns(role: Role, what: keyof typeof ROLES_OF): boolean {
  return (ROLES_OF[what] as readonly Role[]).includes(role);
}
