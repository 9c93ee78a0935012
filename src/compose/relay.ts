import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Part } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { overrideChores } from "../relay/overrides.ts";
import { type Chore, createRelay } from "../relay/relay.ts";
import { teamRemovalChores } from "../relay/team-removals.ts";
import { tidyingChores } from "../relay/tidying.ts";
import { usageChores } from "../relay/usage.ts";
import { createChangePublisher } from "../services/authenticate/publish.ts";
import { createMergeOverrides } from "../services/overrides/merge.ts";
import { createQuotaThresholds } from "../services/quota/thresholds.ts";
import { createAuthBus } from "../store/auth-bus.ts";
import { createAuthChanges } from "../store/auth-changes.ts";
import { pruneKeys } from "../store/idempotency.ts";
import { createQuotaLedger } from "../store/quota-ledger.ts";
import { createTeamRemovals } from "../store/team-removals.ts";
import { createUsageStore } from "../store/usage.ts";
import { composeBillingChores } from "./billing.ts";
import { composeBulkChores } from "./bulk.ts";
import { composePortalChores } from "./portal-chores.ts";
import type { ResourceDeps } from "./resources.ts";
import type { Stores } from "./stores.ts";
import { composeUploadChores } from "./uploads.ts";
import { composeWebhookDelivery } from "./webhooks.ts";

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
}

/** The role `relay`: what nobody waits for. */
export function composeRelay(deps: Deps): Part[] {
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
  const chores = [...choresOf(made), ...webhooks.chores];
  return [...webhooks.parts, createRelay({ chores, clock: systemClock, log })];
}

/** Each room's chores, in a list. */
function choresOf(deps: ResourceDeps): Chore[] {
  const { stores, publisher } = deps;
  return [
    ...tidyingChores({
      ledger: createQuotaLedger(stores.sql),
      changes: createAuthChanges(stores.sql),
      idempotencyKeys: { prune: () => pruneKeys(stores.sql) },
    }),
    ...usageChores({
      usage: createUsageStore(stores.sql),
      thresholds: createQuotaThresholds({ sql: stores.sql, log: deps.log }),
    }),
    ...teamRemovalChores({
      removals: createTeamRemovals(stores.sql),
      // Without object storage there is nothing to delete.
      deleteBelow: async (prefix) => stores.objects?.deleteBelow(prefix) ?? true,
      log: deps.log,
    }),
    ...overrideChores(createMergeOverrides({ sql: stores.sql, publisher, log: deps.log })),
    ...composeBillingChores(deps),
    ...composePortalChores(deps),
    ...composeBulkChores(deps),
    ...composeUploadChores(deps),
  ];
}
