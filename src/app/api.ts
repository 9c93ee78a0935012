import { createRoutes } from "../api/routing/routes.ts";
import { createReadTurns } from "../api/server/read-turns.ts";
import { createHttpServer, type HttpServer } from "../api/server/server.ts";
import type { Config } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { type AuthBus, createAuthBus } from "../features/auth/auth-bus.ts";
import { createAuthChanges } from "../features/auth/auth-changes.ts";
import { type Authenticator, createAuthenticator } from "../features/auth/authenticate.ts";
import { createChangePublisher } from "../features/auth/publish.ts";
import { createTeamDomains } from "../features/auth/team-domains.ts";
import { createFeedback } from "../features/feedback/feedback.ts";
import { createIdempotency } from "../features/idempotency/idempotency.ts";
import { createCredentials } from "../features/identity/credentials.ts";
import { readPromoted } from "../features/overrides/promoted-disposable-sql.ts";
import {
  createPromotedDisposables,
  type PromotedDisposables,
} from "../features/overrides/promoted-disposables.ts";
import { createLimitsView, createPublicLimitsView } from "../features/quota/limits-view.ts";
import { createQuota, type Quota } from "../features/quota/quota.ts";
import { createQuotaLedger } from "../features/quota/quota-ledger.ts";
import { type ClientLimiter, createClientLimiter, createPublicRate } from "../features/rate-limit/clients.ts";
import { createRateLimiter, type RateLimiter } from "../features/rate-limit/rate-limit.ts";
import { createRateBuckets } from "../features/rate-limit/redis-buckets.ts";
import { createUsageCounter, type UsageCounter } from "../features/usage/counts.ts";
import { createUsage } from "../features/usage/usage.ts";
import { createUsageStore } from "../features/usage/usage-sql.ts";
import { createCachedAnswers } from "../features/verify/answer/cached-answers.ts";
import { createEarlyAdmission, type EarlyAdmission } from "../features/verify/answer/early-admission.ts";
import type { Examiner } from "../features/verify/answer/examine.ts";
import { createTestKeys } from "../features/verify/answer/test-keys.ts";
import { createVerificationTallies } from "../features/verify/answer/verification-tallies.ts";
import { createVerifyAddress, type VerifyAddress } from "../features/verify/answer/verify-address.ts";
import { createRowFiller } from "../features/verify/batch/fill-rows.ts";
import type { CheckAdmission } from "../features/verify/checks/admission.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import { createReadiness } from "../platform/readiness.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";
import { systemClock } from "../platform/time/clock.ts";
import { isObjectsOutage } from "../stores/objects/objects.ts";
import { withOutageWait } from "../stores/postgres/outage-wait.ts";
import { isOutage, pingPostgres } from "../stores/postgres/postgres.ts";
import { checkParts } from "./checks/check-parts.ts";
import type { StartedThreads } from "./checks/check-threads.ts";
import { type Checks, composeChecks } from "./checks/checks.ts";
import { composeExaminers } from "./checks/examiner.ts";
import type { SelfCheckService } from "./checks/self-check.ts";
import { composeDeploymentStatus } from "./deployment-status.ts";
import { composeRequestWork } from "./request-work.ts";
import { composeResources } from "./resources.ts";
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
  const { examiner, rechecks, admission, withdraw } = composeExaminers({
    ...deps,
    ...{ checks, promoted, deadlineMs },
  });
  const invalidate = authenticator.invalidate.bind(authenticator);
  const publisher = createChangePublisher({ sql: stores.sql, bus, log, invalidate });
  const idempotency = createIdempotency({ sql: stores.sql, clock, log });
  const requestWork = composeRequestWork(log);
  const publicRate = createPublicRate();
  const server = createHttpServer({
    routes: createRoutes({
      ...composeResources({ ...deps, clock, publisher, requestWork }),
      ...composeVerification(deps, { examiner, admission, promoted, rateLimiter, quota, counter }),
      usage: createUsage({ store: usageStore, quota, counter, clock }),
      feedback: createFeedback({
        ...{ sql: stores.sql, clock, log, withdraw, reading: requestWork.feedback },
        providers: checks.providers,
        onRecorded: (verdict, outcome, events) =>
          metrics.feedbackEvents.inc({ verdict: verdict ?? "none", outcome }, events),
      }),
      deploymentStatus: composeDeploymentStatus({ ...deps, checks }),
      readiness: composeReadiness(deps, checks, () => server.isDraining()),
      publicUrl: config.http.publicUrl,
    }),
    gate: {
      authenticate: (authorization, caller) => authenticator.authenticate(authorization, caller),
      isKnown: (authorization) => authenticator.isKnown(authorization),
      rateLimit: rateLimiter,
      publicRate,
      limitsLeft: createLimitsView({ rateLimiter, quota }),
      publicLimitsLeft: createPublicLimitsView(publicRate),
      idempotency,
      reads: createReadTurns(clock, config.database.maxConnections),
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
    // No request waits for rechecks: they are drained first.
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
 * Starts after the change feed, so that no later change is missed. The first read must succeed: Postgres may become
 * unreachable between its own start and this one.
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
    filler: createRowFiller({ clock, examiner, limits: LIMITS.verify.templates }),
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
