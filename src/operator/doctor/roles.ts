import type { Config } from "../../config/config.ts";

type Role = Config["role"];

/**
 * What only some roles have to do with. A process is given what its role needs and reaches what its role talks to (`k8s/`:
 * only some roles have keys to secrets and the way to the mail server), so that what another role needs is no fault where
 * it is missing.
 */
const ROLES_OF = {
  /** Answers requests, and has to be left by balancers before it ends. */
  requests: ["api", "all"],
  /** Seals or opens what is stored under SECRETS_KEY. */
  secrets: ["api", "relay", "all"],
  /** Hands mails to SMTP_OUT_URL. */
  mails: ["relay", "all"],
  /** Asks DNS and mail servers about addresses. */
  probes: ["api", "bulk", "all"],
} as const satisfies Record<string, readonly Role[]>;

export function concerns(role: Role, what: keyof typeof ROLES_OF): boolean {
  return (ROLES_OF[what] as readonly Role[]).includes(role);
}
