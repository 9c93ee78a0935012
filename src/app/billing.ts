import type { Config } from "../config/config.ts";
import type { ChangePublisher } from "../features/auth/publish.ts";
import { type Billing, createBilling } from "../features/billing/billing.ts";
import { billingPeriodicTasks } from "../features/billing/billing-tasks.ts";
import { createBillingProvider } from "../features/billing/provider.ts";
import { createBillingRereads } from "../features/billing/reread.ts";
import { pruneStripeEvents } from "../features/billing/subscription-sql.ts";
import type { Logger } from "../platform/log.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Pick<Config, "billing">;
  stores: Pick<Stores, "sql">;
  publisher: ChangePublisher;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

/** Billing of the role `api`. Where it is not configured, its routes answer so. */
export function composeBilling({ stores, publisher, clock, log, config, metrics }: Deps): Billing {
  const stripe =
    config.billing === null
      ? null
      : { config: config.billing, provider: createBillingProvider({ config: config.billing, log }) };
  return createBilling({
    sql: stores.sql,
    publisher,
    clock,
    log,
    stripe,
    onPaidTwice: () => metrics.paidTwice.inc(),
  });
}

/** Billing of the role `relay`. */
export function composeBillingPeriodicTasks({
  stores,
  publisher,
  clock,
  log,
  config,
  metrics,
}: Deps): PeriodicTask[] {
  const { sql } = stores;
  const { billing } = config;
  const rereads =
    billing === null
      ? null
      : createBillingRereads({
          sql,
          publisher,
          provider: createBillingProvider({ config: billing, log }),
          plans: billing.prices,
          clock,
          log,
          onPaidTwice: () => metrics.paidTwice.inc(),
        });
  return billingPeriodicTasks({
    rereads,
    events: { prune: () => pruneStripeEvents(sql) },
  });
}
