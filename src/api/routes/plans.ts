import * as v from "valibot";
import type { Plan } from "../../features/billing/plans.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";
import { tierField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";
import { limitFields } from "../schemas/team-limits.ts";

const PlanSchema = named(
  "Plan",
  v.object({
    tier: tierField("Its name, as teams have it."),
    ...limitFields,
    intervals: v.pipe(
      v.array(v.picklist(["month", "year"])),
      v.description("How it can be paid in this deployment; empty: it is not sold here."),
    ),
  }),
);

const PlansSchema = named(
  "PlanList",
  v.object({
    data: v.pipe(v.array(PlanSchema), v.description("Every tier, smallest first.")),
    next_cursor: v.pipe(v.null(), v.description("Always null: there is one page.")),
  }),
);

const example: Plan = {
  tier: "pro",
  daily_quota: 250_000,
  rate_per_s: 50,
  rate_burst: 200,
  bulk_bytes: 100_000_000,
  history_days: 90,
  refresh: true,
  webhooks: true,
  probing: false,
  intervals: ["month", "year"],
};

/** The plans on offer. Public, since a client without an account reads them too. */
export function createPlansRoute(plans: readonly Plan[]): PublicRoute {
  return publicRoute({
    method: "GET",
    path: "/v1/plans",
    operationId: "listPlans",
    summary: "What is there in each tier?",
    description:
      "The tiers with their limits, before anything that the operator has changed for a team: `GET /v1/auth/me` has the " +
      "limits in force. What a plan costs is shown at the checkout.",
    tag: "billing",
    rate: "client",
    errors: [],
    success: {
      status: 200,
      description: "The plans",
      schema: PlansSchema,
      example: { data: [example], next_cursor: null },
    },
    handler: () => ({ data: [...plans], next_cursor: null }),
  });
}
