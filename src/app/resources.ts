import type { RouteDeps } from "../api/routing/routes.ts";
import type { Config } from "../config/config.ts";
import type { ChangePublisher } from "../features/auth/publish.ts";
import { listPlans } from "../features/billing/plans.ts";
import { createBlocklist } from "../features/blocklist/blocklist.ts";
import { createOverrides } from "../features/overrides/overrides.ts";
import { createKeys } from "../features/teams/keys.ts";
import { createMembers } from "../features/teams/members.ts";
import { createTeam } from "../features/teams/team.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";
import type { Clock } from "../platform/time/clock.ts";
import { composeBilling } from "./billing.ts";
import { composeBulkJobs } from "./bulk.ts";
import { composePortal } from "./portal.ts";
import type { RequestWork } from "./request-work.ts";
import type { Stores } from "./stores.ts";
import { composeUploads } from "./uploads.ts";
import { composeWebhooks } from "./webhooks.ts";

/** Dependencies of the services for accounts, teams and their resources, in every role. */
export interface ResourceDeps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
  clock: Clock;
  publisher: ChangePublisher;
}

/**
 * The services behind the routes, and the parser of large bodies. Not here: verification, usage, feedback, and the state of
 * the process.
 */
export type Resources = Omit<
  RouteDeps,
  "verify" | "earlyAdmission" | "usage" | "feedback" | "readiness" | "deploymentStatus" | "publicUrl"
>;

export function composeResources(
  deps: ResourceDeps & { tracer: Tracer | null; requestWork: RequestWork },
): Resources {
  const { stores, publisher } = deps;
  const { sql } = stores;
  return {
    parseLarge: deps.requestWork.parseLarge,
    bulk: composeBulkJobs(deps),
    uploads: composeUploads(deps),
    blocklist: createBlocklist({ sql, publisher }),
    overrides: createOverrides({ sql, publisher, readDomains: deps.requestWork.readDomains }),
    billing: composeBilling(deps),
    plans: listPlans(deps.config.billing),
    keys: createKeys({ sql, publisher }),
    team: createTeam({ sql, publisher }),
    members: createMembers({ publisher }),
    ...composeWebhooks(deps),
    ...composePortal(deps),
  };
}
