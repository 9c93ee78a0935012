import { Link } from "@tanstack/react-router";
import { useOwnPlan } from "../api/plans.ts";
import { TIERS } from "../words/tiers.ts";
import { Notice } from "./notice.tsx";

/** Notice of a plan without probing: mail servers are not asked, so no address is answered valid. */
export function NoProbing() {
  const plan = useOwnPlan();
  if (plan === null || plan.probing) return null;
  return (
    <Notice>
      Your plan ({TIERS[plan.tier]}) does not ask mail servers: bad addresses are found by their form, domain
      and the lists, but none is proven valid. <Link to="/billing">See the plans.</Link>
    </Notice>
  );
}

/** Notice of a plan without lists. */
export function NoLists() {
  const plan = useOwnPlan();
  if (plan === null || plan.bulk_bytes > 0) return null;
  return (
    <Notice>
      Your plan ({TIERS[plan.tier]}) has no lists: verify addresses one by one, or choose a larger plan.{" "}
      <Link to="/billing">See the plans.</Link>
    </Notice>
  );
}
