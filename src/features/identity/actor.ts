import type { Tier, TierLimits } from "../../config/tiers.ts";

export const MEMBER_ROLES = ["member", "admin", "owner"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** True when `role` may do what needs at least `least`. */
export function hasAtLeastRole(role: MemberRole, least: MemberRole): boolean {
  return MEMBER_ROLES.indexOf(role) >= MEMBER_ROLES.indexOf(least);
}

export function lowerRole(one: MemberRole, other: MemberRole): MemberRole {
  return hasAtLeastRole(one, other) ? other : one;
}

/** The role with this stored name; for a missing or unknown name, the lowest. */
export function parseMemberRole(name: string | null): MemberRole {
  return MEMBER_ROLES.find((role) => role === name) ?? "member";
}

/** The authenticated sender, as far as a request needs to know it. Shared by all requests of one credential: never mutated. */
export interface Actor {
  teamId: string;
  /** null: the key's user has left the team; such a key verifies and reads, nothing else. */
  userId: string | null;
  /** Id of the key or session. */
  keyId: string;
  /** A portal session; else an API key. */
  isSession: boolean;
  role: MemberRole;
  /** Test keys never touch the network, the cache or the quota. */
  livemode: boolean;
  tier: Tier;
  limits: TierLimits;
  /** When the look-up that read `limits` began, monotonic: of two actors of a team the later one's are in force. */
  limitsAsOfMs: number;
  overlay: TeamOverlay;
}

/**
 * True when the caller may see and change its team's object made in live or test mode. A test key has no access to live
 * objects; a live key or session has access to both.
 */
export function canAccessMode({ livemode }: Pick<Actor, "livemode">, made: { livemode: boolean }): boolean {
  return livemode || !made.livemode;
}

/**
 * Key of the share of a process's slots, turns and memory that a request uses. A team's test keys have a share of their own, so
 * that a leaked one cannot use up that of the team's live traffic. So a team may have two shares of each.
 */
export function shareKey({ teamId, livemode }: Pick<Actor, "teamId" | "livemode">): string {
  return livemode ? teamId : `${teamId}:test`;
}

/** A team's domain lists, applied over the evidence that all teams share. */
export interface TeamOverlay {
  /** True when the A-label domain, or a parent entered with subdomains, is on the team's blocklist. */
  isBlocked(domain: string): boolean;
  /** True when the A-label domain, or a parent of it, is among the team's merged disposable overrides. */
  isDisposable(domain: string): boolean;
}
