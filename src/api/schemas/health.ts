import * as v from "valibot";
import { named } from "./fields.ts";

export const HealthSchema = named(
  "Health",
  v.object({
    status: v.pipe(v.literal("ok"), v.description("The event loop turns.")),
  }),
);

const dependency = (description: string) =>
  v.pipe(v.picklist(["ok", "down", "unconfigured"]), v.description(description));

export const ReadinessSchema = named(
  "Readiness",
  v.object({
    status: v.pipe(
      v.picklist(["ready", "degraded", "unavailable", "draining"]),
      v.description(
        "`degraded`: something that one can do without is down; `unavailable` and `draining` (about to end; serves until then), with 503: send requests elsewhere.",
      ),
    ),
    dependencies: v.pipe(
      v.object({
        postgres: dependency("Accounts and quota."),
        redis: dependency("Rate limits and caches."),
        objects: dependency("Object storage, for files."),
        checks: dependency("The threads that check addresses."),
      }),
      v.description("What it works with."),
    ),
  }),
);
export type Readiness = v.InferOutput<typeof ReadinessSchema>;
