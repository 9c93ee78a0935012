import type { Config } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { createCachingResolver } from "../dns/cache.ts";
import { createResolver } from "../dns/client.ts";
import type { Resolver } from "../dns/resolver.ts";
import { createWebhookClient } from "../features/webhooks/deliver/webhook-client.ts";
import { createDeliver } from "../features/webhooks/deliver/webhook-delivery.ts";
import { createWebhookDispatcher } from "../features/webhooks/deliver/webhook-dispatcher.ts";
import type { HostLookup } from "../features/webhooks/deliver/webhook-target.ts";
import { webhookPeriodicTasks } from "../features/webhooks/deliver/webhook-tasks.ts";
import { createWebhookDeliveries, type WebhookDeliveries } from "../features/webhooks/deliveries.ts";
import { createFanOut } from "../features/webhooks/fan-out.ts";
import { countBacklog, pruneEvents } from "../features/webhooks/webhook-queue.ts";
import { createWebhooks, type Webhooks } from "../features/webhooks/webhooks.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import { createSecretBox, type SecretBox } from "../platform/secret-box.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { Stores } from "./stores.ts";

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
  clock: Clock;
}

function secretBoxOf({ config }: Pick<Deps, "config">): SecretBox | null {
  return config.secretsKey === null ? null : createSecretBox(config.secretsKey);
}

/** The services behind the routes of webhooks. */
export function composeWebhooks(deps: Deps): {
  webhooks: Webhooks;
  webhookDeliveries: WebhookDeliveries;
} {
  const { sql } = deps.stores;
  const box = secretBoxOf(deps);
  const { privateAddresses } = deps.config.webhooks;
  return {
    webhooks: createWebhooks({ sql, box, privateAddresses }),
    webhookDeliveries: createWebhookDeliveries({ sql, box }),
  };
}

/** Both families at once; one of them is enough. Names are looked up in the DNS only, not in the system's hosts file. */
function hostLookup(resolver: Resolver): HostLookup {
  return async (host) => {
    const outcomes = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
    const addresses = outcomes.flatMap((outcome) => (outcome.status === "ok" ? outcome.records : []));
    if (addresses.length > 0) return { found: true, addresses };
    const failed = outcomes.some(({ status }) => status === "server_failure" || status === "no_answer");
    return { found: false, error: failed ? "dns_failure" : "host_not_found" };
  };
}

/** The relay's delivery of webhooks. Without SECRETS_KEY events cannot be signed, and due deliveries wait for it. */
export function composeWebhookDelivery(deps: Deps): {
  parts: LifecyclePart[];
  periodicTasks: PeriodicTask[];
} {
  const { config, log, metrics, clock } = deps;
  const { sql } = deps.stores;
  const { keptMs, prunedPerRound } = LIMITS.webhooks;
  const tasks = webhookPeriodicTasks({
    fanOut: createFanOut(sql),
    prune: () => pruneEvents(sql, keptMs, prunedPerRound),
    countBacklog: async () => metrics.webhookBacklog.set(await countBacklog(sql)),
  });
  const box = secretBoxOf(deps);
  if (box === null) return { parts: [], periodicTasks: tasks };
  const resolver = createCachingResolver(createResolver({ servers: config.dns.servers, clock }), clock);
  const client = createWebhookClient({
    lookup: hostLookup(resolver),
    clock,
    privateAddresses: config.webhooks.privateAddresses,
  });
  const deliver = createDeliver({ sql, box, client, clock, random: Math.random, log, metrics });
  const parts: LifecyclePart[] = [
    { name: "webhook names", stop: () => resolver.close() },
    createWebhookDispatcher({ sql, deliver, clock, log }),
  ];
  return { parts, periodicTasks: tasks };
}
