import type { Tier, TierLimits } from "../core/tiers.ts";

export const ROLES = ["member", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

/** Who is asking, as far as a request needs to know. Shared by all requests of one credential: never mutated. */
export interface Actor {
  teamId: string;
  /** null: the key's user has left the team; such a key verifies and reads, nothing else. */
  userId: string | null;
  keyId: string;
  role: Role;
  /** Test keys never touch the network, the cache or the quota. */
  livemode: boolean;
  tier: Tier;
  limits: TierLimits;
  /** When the look-up that read `limits` began, monotonic: of two actors of a team the later one's are in force. */
  limitsAsOfMs: number;
  overlay: TeamOverlay;
}

/** What a team has said about domains, over everybody's evidence. */
export interface TeamOverlay {
  /** True when the A-label domain, or a parent entered with subdomains, is on the team's blocklist. */
  isBlocked(domain: string): boolean;
}
