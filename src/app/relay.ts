import type { Config } from "../config/config.ts";
import { createAuthBus } from "../features/auth/auth-bus.ts";
import { createAuthChanges } from "../features/auth/auth-changes.ts";
import { createChangePublisher } from "../features/auth/publish.ts";
import { pruneFeedback } from "../features/feedback/feedback-sql.ts";
import { feedbackPeriodicTasks } from "../features/feedback/feedback-tasks.ts";
import { pruneIdempotencyKeys } from "../features/idempotency/idempotency-sql.ts";
import { createMergeOverrides } from "../features/overrides/merge.ts";
import { overridePeriodicTasks } from "../features/overrides/override-tasks.ts";
import { createQuotaLedger } from "../features/quota/quota-ledger.ts";
import { createQuotaThresholds } from "../features/quota/thresholds.ts";
import { createTeamRemovals } from "../features/teams/team-removal-sql.ts";
import { teamRemovalPeriodicTasks } from "../features/teams/team-removals.ts";
import { createUsageStore } from "../features/usage/usage-sql.ts";
import { usagePeriodicTasks } from "../features/usage/usage-tasks.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import { createRelay, type PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { systemClock } from "../platform/time/clock.ts";
import { composeBillingPeriodicTasks } from "./billing.ts";
import { composeBulkPeriodicTasks } from "./bulk.ts";
import { cleanupPeriodicTasks } from "./cleanup-tasks.ts";
import { composePortalPeriodicTasks } from "./portal-periodic-tasks.ts";
import type { ResourceDeps } from "./resources.ts";
import type { Stores } from "./stores.ts";
import { composeUploadPeriodicTasks } from "./uploads.ts";
import { composeWebhookDelivery } from "./webhooks.ts";

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
}

/** The role `relay`: periodic tasks and webhook deliveries, for which no request waits. */
export function composeRelay(deps: Deps): LifecyclePart[] {
  const { log, stores } = deps;
  const publisher = createChangePublisher({
    sql: stores.sql,
    bus: createAuthBus(stores.redis, log),
    log,
    // No credential is cached in a relay.
    invalidate: () => undefined,
  });
  const made: ResourceDeps = { ...deps, clock: systemClock, publisher };
  const webhooks = composeWebhookDelivery(made);
  const tasks = [...periodicTasksOf(made), ...webhooks.periodicTasks];
  return [...webhooks.parts, createRelay({ tasks, clock: systemClock, log })];
}

/** Each room's tasks, in a list. */
function periodicTasksOf(deps: ResourceDeps): PeriodicTask[] {
  const { stores, publisher } = deps;
  return [
    ...cleanupPeriodicTasks({
      ledger: createQuotaLedger(stores.sql),
      changes: createAuthChanges(stores.sql),
      idempotencyKeys: { prune: () => pruneIdempotencyKeys(stores.sql) },
    }),
    ...usagePeriodicTasks({
      usage: createUsageStore(stores.sql),
      thresholds: createQuotaThresholds({ sql: stores.sql, log: deps.log }),
    }),
    ...feedbackPeriodicTasks(() => pruneFeedback(stores.sql)),
    ...teamRemovalPeriodicTasks({
      removals: createTeamRemovals(stores.sql),
      // Without object storage there is nothing to delete.
      deleteBelow: async (prefix) => stores.objects?.deleteBelow(prefix) ?? true,
      log: deps.log,
    }),
    ...overridePeriodicTasks(createMergeOverrides({ sql: stores.sql, publisher, log: deps.log })),
    ...composeBillingPeriodicTasks(deps),
    ...composePortalPeriodicTasks(deps),
    ...composeBulkPeriodicTasks(deps),
    ...composeUploadPeriodicTasks(deps),
  ];
}
