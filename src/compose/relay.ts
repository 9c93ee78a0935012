import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { LifecyclePart } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { cleanupPeriodicTasks } from "../relay/cleanup.ts";
import { overridePeriodicTasks } from "../relay/overrides.ts";
import { createRelay, type PeriodicTask } from "../relay/relay.ts";
import { teamRemovalPeriodicTasks } from "../relay/team-removals.ts";
import { usagePeriodicTasks } from "../relay/usage.ts";
import { createChangePublisher } from "../services/authenticate/publish.ts";
import { createMergeOverrides } from "../services/overrides/merge.ts";
import { createQuotaThresholds } from "../services/quota/thresholds.ts";
import { createAuthBus } from "../store/auth-bus.ts";
import { createAuthChanges } from "../store/auth-changes.ts";
import { pruneIdempotencyKeys } from "../store/idempotency.ts";
import { createQuotaLedger } from "../store/quota-ledger.ts";
import { createTeamRemovals } from "../store/team-removals.ts";
import { createUsageStore } from "../store/usage.ts";
import { composeBillingPeriodicTasks } from "./billing.ts";
import { composeBulkPeriodicTasks } from "./bulk.ts";
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

/** The role `relay`: what nobody waits for. */
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
  const chores = [...periodicTasksOf(made), ...webhooks.periodicTasks];
  return [...webhooks.parts, createRelay({ chores, clock: systemClock, log })];
}

/** Each room's chores, in a list. */
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
