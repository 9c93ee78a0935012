import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { billingPeriodicTasks } from "../relay/billing.ts";
import type { PeriodicTask } from "../relay/relay.ts";
import type { ChangePublisher } from "../services/authenticate/publish.ts";
import { type Billing, createBilling } from "../services/billing/billing.ts";
import { createBillingProvider } from "../services/billing/provider.ts";
import { createBillingRereads } from "../services/billing/reread.ts";
import { pruneStripeEvents } from "../store/billing.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Pick<Config, "billing">;
  stores: Pick<Stores, "sql">;
  publisher: ChangePublisher;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

/** Billing of the role `api`. Unconfigured, it says so to whoever asks. */
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
