import { effectiveLimits, TIER_LIMITS, type TierLimits } from "../../config/tiers.ts";
import { type Actor, lowerRole, type MemberRole, parseMemberRole } from "../identity/actor.ts";
import type { CredentialRow, TeamRow } from "../identity/credentials.ts";
import type { RateSettings } from "../rate-limit/classes.ts";
import type { TeamLists } from "./team-lists.ts";

/**
 * Data common to all credentials of a team, except for its lists. Marked stale once any of it has changed; never mutated
 * otherwise.
 */
export interface TeamContext {
  id: string;
  limits: TierLimits;
  stale: boolean;
  /** When the look-up that read it began, monotonic. */
  readonly loadedAtMs: number;
}

/** A bucket needs a rate and room for a token; any other limit may be 0. */
const AT_LEAST_ONE: readonly string[] = [
  "ratePerS",
  "rateBurst",
  "readsPerS",
  "readsBurst",
  "writesPerS",
  "writesBurst",
] satisfies (keyof RateSettings)[];

/** The operator's overrides that name a limit and have its type; anything else is not in force. */
export function limitOverrides(stored: unknown): Partial<TierLimits> {
  if (typeof stored !== "object" || stored === null) return {};
  const known = Object.entries(stored).filter(([name, value]) => {
    const sample: unknown = TIER_LIMITS.free[name as keyof TierLimits];
    if (typeof sample === "number")
      return Number.isSafeInteger(value) && (value as number) >= (AT_LEAST_ONE.includes(name) ? 1 : 0);
    return typeof sample === "boolean" && typeof value === "boolean";
  });
  return Object.fromEntries(known);
}

/** The limits in force of a team as stored. */
export function limitsOf(row: Pick<TeamRow, "tier" | "limits">): TierLimits {
  return effectiveLimits(row.tier, limitOverrides(row.limits));
}

/** The lower of the key's role and what its user may do now; without a user, the lowest. */
function effectiveRole(row: CredentialRow): MemberRole {
  return lowerRole(parseMemberRole(row.keyRole), parseMemberRole(row.memberRole));
}

export function teamContext(row: TeamRow, loadedAtMs: number): TeamContext {
  return {
    id: row.id,
    limits: limitsOf(row),
    stale: false,
    loadedAtMs,
  };
}

export function buildActor(
  credential: CredentialRow,
  team: TeamRow,
  context: TeamContext,
  lists: TeamLists,
): Actor {
  return {
    teamId: team.id,
    userId: credential.userId,
    keyId: credential.id,
    isSession: credential.kind === "session",
    role: effectiveRole(credential),
    livemode: credential.kind !== "test",
    tier: team.tier,
    limits: context.limits,
    limitsAsOfMs: context.loadedAtMs,
    overlay: lists,
  };
}
