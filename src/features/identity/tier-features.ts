import { AppError } from "../../platform/errors.ts";
import type { Actor } from "./actor.ts";

/** Features that a whole route depends on, and that not every tier has. */
export type TierFeature = "bulk" | "webhooks";

/** @throws AppError `unavailable_in_tier` */
export function requireFeature({ limits, tier }: Pick<Actor, "limits" | "tier">, feature: TierFeature): void {
  if (feature === "bulk" && limits.bulkBytes === 0)
    throw new AppError("unavailable_in_tier", `Bulk needs the tier starter or above, the team has ${tier}.`);
  if (feature === "webhooks" && !limits.webhooks)
    throw new AppError("unavailable_in_tier", "Webhooks are not part of the team's tier.");
}
