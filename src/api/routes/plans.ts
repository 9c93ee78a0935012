import * as v from "valibot";
import type { Plan } from "../../features/billing/plans.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";
import { tierField } from "../schemas/enums.ts";
import { countField, named } from "../schemas/fields.ts";

const PlanSchema = named(
  "Plan",
  v.object({
    tier: tierField("Its name, as teams have it."),
    daily_quota: countField("Units a UTC day, single and bulk together; and the most rows of a job."),
    rate_per_s: countField("Single verifications a second, sustained."),
    rate_burst: countField("Single verifications at once."),
    bulk_bytes: countField("Of a bulk source at most; 0: no bulk."),
    history_days: countField("How far the history of usage goes back."),
    refresh: v.pipe(v.boolean(), v.description("`refresh=true` is allowed.")),
    webhooks: v.pipe(v.boolean(), v.description("The team may have webhooks.")),
    probing: v.pipe(
      v.boolean(),
      v.description("Mail servers are asked about mailboxes; without it nothing is answered `valid`."),
    ),
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
      "The tiers with their limits, before anything that the operator has changed for a team. What a plan costs is " +
      "shown at the checkout.",
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
