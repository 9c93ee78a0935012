import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import type { LifecyclePart } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Tracer } from "../core/tracing.ts";
import { createRoutes } from "../http/routes.ts";
import { createHttpServer, type HttpServer } from "../http/server.ts";
import { type Authenticator, createAuthenticator } from "../services/authenticate/authenticate.ts";
import { createChangePublisher } from "../services/authenticate/publish.ts";
import { createIdempotency } from "../services/idempotency.ts";
import { createLimitsView } from "../services/limits-view.ts";
import {
  createPromotedDisposables,
  type PromotedDisposables,
} from "../services/overrides/promoted-disposables.ts";
import { createQuota, type Quota } from "../services/quota/quota.ts";
import { type ClientLimiter, createClientLimiter, createPublicRate } from "../services/rate-limit/clients.ts";
import { createRateLimiter, type RateLimiter } from "../services/rate-limit/rate-limit.ts";
import { createReadiness } from "../services/readiness.ts";
import { createUsageCounter, type UsageCounter } from "../services/usage/counts.ts";
import { createUsage } from "../services/usage/usage.ts";
import type { CheckAdmission } from "../services/verify/admission.ts";
import { createCachedAnswers } from "../services/verify/cached-answers.ts";
import { createRowDrawer } from "../services/verify/draw-rows.ts";
import { createEarlyAdmission, type EarlyAdmission } from "../services/verify/early-admission.ts";
import type { Examiner } from "../services/verify/examine.ts";
import { createTestKeys } from "../services/verify/test-keys.ts";
import { createVerificationTallies } from "../services/verify/verification-tallies.ts";
import { createVerifyAddress, type VerifyAddress } from "../services/verify/verify-address.ts";
import { type AuthBus, createAuthBus } from "../store/auth-bus.ts";
import { createAuthChanges } from "../store/auth-changes.ts";
import { createCredentials } from "../store/credentials.ts";
import { isObjectsOutage } from "../store/objects.ts";
import { withOutageWait } from "../store/outage-wait.ts";
import { isOutage, pingPostgres } from "../store/postgres.ts";
import { readPromoted } from "../store/promoted-disposables.ts";
import { createQuotaLedger } from "../store/quota-ledger.ts";
import { createRateBuckets } from "../store/rate-bucket.ts";
import { createTeamDomains } from "../store/team-domains.ts";
import { createUsageStore } from "../store/usage.ts";
import { checkParts } from "./check-parts.ts";
import type { StartedThreads } from "./check-threads.ts";
import { type Checks, composeChecks } from "./checks.ts";
import { composeExaminers } from "./examiner.ts";
import { composeRequestWork } from "./request-thread.ts";
import { composeResources } from "./resources.ts";
import type { SelfCheckService } from "./self-check.ts";
import type { Stores } from "./stores.ts";

export interface ApiRole {
  parts: LifecyclePart[];
  /** The port it listens on; null until it does. */
  port(): number | null;
  selfCheck: SelfCheckService;
}

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
  /** null: nothing is traced. */
  tracer: Tracer | null;
  begun?: StartedThreads;
}

const clock = systemClock;

/** The role `api`: everything between a socket and a verdict. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
export function composeApi(deps: Deps): ApiRole {
  const { config, log, metrics, stores } = deps;
  const checks = composeChecks({ ...deps, redis: stores.redis });
  const quota = createQuota({ ledger: createQuotaLedger(stores.sql), clock, log, metrics });
  const usageStore = createUsageStore(stores.sql);
  const counter = createUsageCounter({ store: usageStore, clock, log });
  const rateLimiter = createRateLimiter({ buckets: createRateBuckets(stores.redis.commands), clock, log });
  const bus = createAuthBus(stores.redis, log);
  const clients = createClientLimiter();
  const authenticator = composeAuthenticator(deps, bus, clients);
  const promoted = createPromotedDisposables({ read: () => readPromoted(stores.sql), clock, log });
  authenticator.followLists(() => promoted.reload());
  const { deadlineMs } = config.verify;
  const { examiner, rechecks, admission } = composeExaminers({ ...deps, checks, promoted, deadlineMs });
  const invalidate = authenticator.invalidate.bind(authenticator);
  const publisher = createChangePublisher({ sql: stores.sql, bus, log, invalidate });
  const idempotency = createIdempotency({ sql: stores.sql, clock, log });
  const requestWork = composeRequestWork(log);
  const server = createHttpServer({
    routes: createRoutes({
      ...composeResources({ ...deps, clock, publisher, requestWork }),
      ...composeVerification(deps, { examiner, admission, promoted, rateLimiter, quota, counter }),
      usage: createUsage({ store: usageStore, quota, counter, clock }),
      readiness: composeReadiness(deps, checks, () => server.isDraining()),
      publicUrl: config.http.publicUrl,
    }),
    gate: {
      authenticate: (authorization, caller) => authenticator.authenticate(authorization, caller),
      rateLimit: rateLimiter,
      publicRate: createPublicRate(),
      limitsLeft: createLimitsView({ rateLimiter, quota }),
      idempotency,
    },
    clients,
    ...{ log, metrics, clock, tracer: deps.tracer },
    isOutage: (error) => isOutage(error) || isObjectsOutage(error),
    config: { ...config.http, corsOrigins: config.corsOrigins },
    limits: LIMITS.http,
  });
  const listener = listenerOf(server);
  const parts: LifecyclePart[] = [
    ...checkParts(checks),
    { name: "idempotency keys", drain: () => idempotency.drain() },
    { name: "usage", start: () => counter.start(), drain: () => counter.drain() },
    { name: "quota", start: () => quota.start(), drain: () => quota.drain() },
    { name: "rate limit", start: () => rateLimiter.start(), drain: () => rateLimiter.drain() },
    { name: "authentication", start: () => authenticator.start(), stop: () => authenticator.stop() },
    promotedDisposablesPart(deps, promoted),
    requestWork.part,
    listener.part,
    // Nobody waits for them: the first to end.
    { name: "rechecks", drain: () => rechecks.stop() },
  ];
  return { parts, port: listener.port, selfCheck: checks.selfCheck };
}

/** The part that listens, and the port it does so on; null until then. */
function listenerOf(server: HttpServer) {
  let port: number | null = null;
  const part: LifecyclePart = {
    name: "http",
    async start() {
      port = (await server.listen()).port;
    },
    leave: () => server.startDraining(),
    drain: () => server.drain(),
    stop: () => server.close(),
  };
  return { part, port: () => port };
}

/**
 * Starts after the feed of changes has begun: what changes from then on is heard of. Its first read must succeed: Postgres may go
 * away between the start of its own part and this.
 */
function promotedDisposablesPart({ log }: Deps, promoted: PromotedDisposables): LifecyclePart {
  const part = { name: "promoted overrides", start: () => promoted.start(), stop: () => promoted.stop() };
  return withOutageWait(part, { clock, log });
}

function composeAuthenticator(
  { stores, log, metrics }: Deps,
  bus: AuthBus,
  clients: ClientLimiter,
): Authenticator {
  return createAuthenticator({
    credentials: createCredentials(stores.sql),
    domains: createTeamDomains(stores.sql),
    changes: createAuthChanges(stores.sql),
    bus,
    clients,
    clock,
    log,
    metrics,
  });
}

interface VerificationParts {
  examiner: Examiner;
  admission: CheckAdmission;
  promoted: PromotedDisposables;
  rateLimiter: RateLimiter;
  quota: Quota;
  counter: UsageCounter;
}

function composeVerification(
  deps: Deps,
  { examiner, admission, promoted, rateLimiter, quota, counter }: VerificationParts,
): { verify: VerifyAddress; earlyAdmission: EarlyAdmission } {
  const tallies = createVerificationTallies(deps.metrics);
  const cachedAnswers = createCachedAnswers({ examiner, tallies, limits: LIMITS.verify });
  const admissions = { examiner, cachedAnswers, admission, rateLimiter, quota, clock };
  const earlyAdmission = createEarlyAdmission(admissions);
  const verify = createVerifyAddress({
    examiner,
    enter: (input, actor, waiter) => earlyAdmission.enter(input, actor, waiter),
    drawer: createRowDrawer({ clock, examiner, limits: LIMITS.verify.templates }),
    quota,
    testKeys: createTestKeys({
      clock,
      slowMs: Math.min(deps.config.verify.deadlineMs, LIMITS.testKeys.slowMs),
      isPromoted: promoted.covers,
    }),
    usage: counter,
    tallies,
    cachedAnswers,
    cacheHits: deps.metrics.cacheLookups.tally({ result: "memory" }),
  });
  return { verify, earlyAdmission };
}

function composeReadiness({ metrics, stores }: Deps, checks: Checks, isDraining: () => boolean) {
  const { sql, redis, objects } = stores;
  return createReadiness({
    clock,
    metrics,
    isDraining,
    probes: {
      postgres: () => pingPostgres(sql),
      redis: () => redis.ping(),
      objects: objects === null ? null : () => objects.ping(),
      checks: () => checks.pool.ready(),
    },
  });
}
