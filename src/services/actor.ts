import type { Tier, TierLimits } from "../core/tiers.ts";

export const ROLES = ["member", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

/** True when `role` may do what needs at least `least`. */
export function reaches(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

export function lowerRole(one: Role, other: Role): Role {
  return reaches(one, other) ? other : one;
}

/** The role of a name as stored; where there is none, or none that is known, the lowest. */
export function asRole(name: string | null): Role {
  return ROLES.find((role) => role === name) ?? "member";
}

/** Who is asking, as far as a request needs to know. Shared by all requests of one credential: never mutated. */
export interface Actor {
  teamId: string;
  /** null: the key's user has left the team; such a key verifies and reads, nothing else. */
  userId: string | null;
  /** Id of the key or session. */
  keyId: string;
  /** A portal session; else an API key. */
  isSession: boolean;
  role: Role;
  /** Test keys never touch the network, the cache or the quota. */
  livemode: boolean;
  tier: Tier;
  limits: TierLimits;
  /** When the look-up that read `limits` began, monotonic: of two actors of a team the later one's are in force. */
  limitsAsOfMs: number;
  overlay: TeamOverlay;
}

/**
 * Whether the caller may see and change something of its team that was made in `livemode`, or in test mode: a test key knows
 * of nothing live, a live key or session of both.
 */
export function mayReach({ livemode }: Pick<Actor, "livemode">, made: { livemode: boolean }): boolean {
  return livemode || !made.livemode;
}

/** What a team has said about domains, over everybody's evidence. */
export interface TeamOverlay {
  /** True when the A-label domain, or a parent entered with subdomains, is on the team's blocklist. */
  isBlocked(domain: string): boolean;
  /** True when the A-label domain, or a parent of it, is among the team's merged disposable overrides. */
  isDisposable(domain: string): boolean;
}
