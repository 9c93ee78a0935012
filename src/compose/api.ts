import { type Lists, openLists } from "../check/lists/lists.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { Part } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { createRoutes } from "../http/routes.ts";
import { createHttpServer } from "../http/server.ts";
import { type Authenticator, createAuthenticator } from "../services/authenticate.ts";
import { createFlights } from "../services/flights.ts";
import { createLimitsView } from "../services/limits-view.ts";
import { createQuota, type Quota } from "../services/quota.ts";
import { createRateLimiter } from "../services/rate-limit.ts";
import { createReadiness } from "../services/readiness.ts";
import { createTestKeys } from "../services/test-keys.ts";
import { createKeeping, createVerifyAddress, type VerifyAddress } from "../services/verify-address.ts";
import { createAuthBus } from "../store/auth-bus.ts";
import { createAuthChanges } from "../store/auth-changes.ts";
import { createCredentials } from "../store/credentials.ts";
import { createEvidenceCache } from "../store/evidence-cache.ts";
import { pingPostgres } from "../store/postgres.ts";
import { createQuotaLedger } from "../store/quota-ledger.ts";
import { createRateBuckets } from "../store/rate-bucket.ts";
import { type Checks, composeChecks } from "./checks.ts";
import { readLifetimes } from "./lifetimes.ts";
import type { Stores } from "./stores.ts";

export interface ApiRole {
  parts: Part[];
  /** The port it listens on; null until it does. */
  port(): number | null;
}

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
}

const clock = systemClock;

/** The role `api`: everything between a socket and a verdict. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
export function composeApi(deps: Deps): ApiRole {
  const { config, log, metrics, stores } = deps;
  const checks = composeChecks({ config, log, metrics, redis: stores.redis });
  const authenticator = composeAuthenticator(deps);
  const quota = createQuota({ ledger: createQuotaLedger(stores.sql), clock, log, metrics });
  const rateLimiter = createRateLimiter({ buckets: createRateBuckets(stores.redis.commands), clock, log });
  const server = createHttpServer({
    routes: createRoutes({
      verify: composeVerify(deps, { checks, lists: openLists(checks.lists), quota }),
      readiness: composeReadiness(deps, checks),
      publicUrl: config.http.publicUrl,
    }),
    gate: {
      authenticate: (authorization) => authenticator.authenticate(authorization),
      rateLimit: rateLimiter,
      rateLimitHeaders: createLimitsView({ rateLimiter, quota }),
    },
    log,
    metrics,
    clock,
    config: config.http,
    limits: LIMITS.http,
  });
  let port: number | null = null;
  const parts: Part[] = [
    { name: "connection slots", start: () => checks.slots.start(), stop: () => checks.slots.close() },
    { name: "network watch", stop: () => checks.network.stop() },
    { name: "checks", start: () => checks.pool.ready(), stop: () => checks.pool.close() },
    { name: "quota", start: () => quota.start(), drain: () => quota.drain() },
    { name: "rate limit", start: () => rateLimiter.start(), drain: () => rateLimiter.drain() },
    { name: "authentication", start: () => authenticator.start(), stop: () => authenticator.stop() },
    {
      name: "http",
      async start() {
        port = (await server.listen()).port;
      },
      drain: () => server.drain(),
      stop: () => server.close(),
    },
  ];
  return { parts, port: () => port };
}

function composeAuthenticator({ stores, log, metrics }: Deps): Authenticator {
  return createAuthenticator({
    credentials: createCredentials(stores.sql),
    changes: createAuthChanges(stores.sql),
    bus: createAuthBus(stores.redis, log),
    clock,
    log,
    metrics,
  });
}

function composeVerify(deps: Deps, made: { checks: Checks; lists: Lists; quota: Quota }): VerifyAddress {
  const { config, log, metrics, stores } = deps;
  const { deadlineMs, cacheEntries, lifetimesS } = config.verify;
  const cache = createEvidenceCache({ redis: stores.redis.commands, clock, maxEntries: cacheEntries });
  const keep = createKeeping(readLifetimes(lifetimesS));
  const flights = createFlights({ clock, cache, pool: made.checks.pool, log, deadlineMs, keep });
  const testKeys = createTestKeys({ clock, slowMs: Math.min(deadlineMs, LIMITS.testKeys.slowMs) });
  return createVerifyAddress({
    clock,
    cache,
    flights,
    lists: made.lists,
    quota: made.quota,
    testKeys,
    metrics,
  });
}

function composeReadiness({ metrics, stores }: Deps, checks: Checks) {
  const { sql, redis, objects } = stores;
  return createReadiness({
    clock,
    metrics,
    probes: {
      postgres: () => pingPostgres(sql),
      redis: () => redis.ping(),
      objects: objects === null ? null : () => objects.ping(),
      checks: () => checks.pool.ready(),
    },
  });
}
