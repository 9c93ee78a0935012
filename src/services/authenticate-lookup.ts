import { effectiveLimits, TIER_LIMITS, type TierLimits } from "../core/tiers.ts";
import type { CredentialRow, TeamRow } from "../store/credentials.ts";
import { type Actor, ROLES, type Role } from "./actor.ts";
import { createOverlay } from "./authenticate-overlay.ts";

/** What all credentials of a team share. Marked stale once anything of it has changed; never mutated otherwise. */
export interface TeamContext {
  id: string;
  limits: TierLimits;
  overlay: Actor["overlay"];
  stale: boolean;
  /** When the look-up that read it began, monotonic. */
  readonly loadedAtMs: number;
}

/** A bucket needs a rate and room for a token; any other limit may be 0. */
const AT_LEAST_ONE: readonly string[] = ["ratePerS", "rateBurst"] satisfies (keyof TierLimits)[];

/** Of the operator's overrides, those that name a limit and have its type; anything else is not in force. */
function limitOverrides(stored: unknown): Partial<TierLimits> {
  if (typeof stored !== "object" || stored === null) return {};
  const known = Object.entries(stored).filter(([name, value]) => {
    const sample: unknown = TIER_LIMITS.free[name as keyof TierLimits];
    if (typeof sample === "number")
      return Number.isSafeInteger(value) && (value as number) >= (AT_LEAST_ONE.includes(name) ? 1 : 0);
    return typeof sample === "boolean" && typeof value === "boolean";
  });
  return Object.fromEntries(known);
}

function asRole(name: string | null): Role | null {
  return ROLES.find((role) => role === name) ?? null;
}

/** The lower of the key's role and what its user may do now; without a user, the lowest. */
function effectiveRole(row: CredentialRow): Role {
  const granted = asRole(row.keyRole) ?? "member";
  const held = asRole(row.memberRole) ?? "member";
  return ROLES.indexOf(granted) < ROLES.indexOf(held) ? granted : held;
}

export function teamContext(row: TeamRow, loadedAtMs: number): TeamContext {
  return {
    id: row.id,
    limits: effectiveLimits(row.tier, limitOverrides(row.limits)),
    overlay: createOverlay(row.blocklist),
    stale: false,
    loadedAtMs,
  };
}

export function actorOf(credential: CredentialRow, team: TeamRow, context: TeamContext): Actor {
  return {
    teamId: team.id,
    userId: credential.userId,
    keyId: credential.id,
    role: effectiveRole(credential),
    livemode: credential.kind !== "test",
    tier: team.tier,
    limits: context.limits,
    limitsAsOfMs: context.loadedAtMs,
    overlay: context.overlay,
  };
}
