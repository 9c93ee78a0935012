import { Link } from "@tanstack/react-router";
import { useHasLists, useLimits } from "../api/plans.ts";
import { useIdentity } from "../api/session.ts";
import { TIERS } from "../words/tiers.ts";
import { Notice } from "./notice.tsx";

/** The name of the team's plan. */
export const usePlanName = (): string => TIERS[useIdentity().team.tier];

/** Notice of a plan without probing: mail servers are not asked, so no address is answered valid. */
export function NoProbing() {
  const name = usePlanName();
  if (useLimits()?.probing !== false) return null;
  return (
    <Notice>
      Your plan ({name}) does not ask mail servers: bad addresses are found by their form, domain and the
      lists, but none is proven valid. <Link to="/billing">See the plans.</Link>
    </Notice>
  );
}

/** Notice of a plan without lists. */
export function NoLists() {
  const name = usePlanName();
  if (useHasLists()) return null;
  return (
    <Notice>
      Your plan ({name}) has no lists: verify addresses one by one, or choose a larger plan.{" "}
      <Link to="/billing">See the plans.</Link>
    </Notice>
  );
}
