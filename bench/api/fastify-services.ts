import type { Config } from "../../src/config/config.ts";
import { LIMITS } from "../../src/config/limits/limits.ts";
import { createAuthBus } from "../../src/features/auth/auth-bus.ts";
import { createAuthChanges } from "../../src/features/auth/auth-changes.ts";
import { createAuthenticator } from "../../src/features/auth/authenticate.ts";
import { createTeamDomains } from "../../src/features/auth/team-domains.ts";
import type { Actor } from "../../src/features/identity/actor.ts";
import { createCredentials } from "../../src/features/identity/credentials.ts";
import { readPromoted } from "../../src/features/overrides/promoted-disposable-sql.ts";
import { createPromotedDisposables } from "../../src/features/overrides/promoted-disposables.ts";
import { createLimitsView } from "../../src/features/quota/limits-view.ts";
import { createQuota, type Quota, type UnitReservation } from "../../src/features/quota/quota.ts";
import { createQuotaLedger } from "../../src/features/quota/quota-ledger.ts";
import { createClientLimiter } from "../../src/features/rate-limit/clients.ts";
import { createRateLimiter, type RateLimiter } from "../../src/features/rate-limit/rate-limit.ts";
import { createRateBuckets } from "../../src/features/rate-limit/redis-buckets.ts";
import { createUsageCounter, type UsageCounter } from "../../src/features/usage/counts.ts";
import { createUsageStore } from "../../src/features/usage/usage-sql.ts";
import type { CachedAnswer } from "../../src/features/verify/answer/answer-note.ts";
import { type CachedAnswers, createCachedAnswers } from "../../src/features/verify/answer/cached-answers.ts";
import { createExaminer, type Examiner } from "../../src/features/verify/answer/examine.ts";
import { createVerificationTallies } from "../../src/features/verify/answer/verification-tallies.ts";
import type { VerifyInput } from "../../src/features/verify/answer/verify-input.ts";
import { createEvidenceCache, type EvidenceCache } from "../../src/features/verify/cache/evidence-cache.ts";
import { AppError } from "../../src/platform/errors.ts";
import type { Logger } from "../../src/platform/log.ts";
import type { CountCell } from "../../src/platform/telemetry/custom-metrics.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { type Clock, systemClock } from "../../src/platform/time/clock.ts";
import { createPostgres } from "../../src/stores/postgres/postgres.ts";
import { createRedis } from "../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../src/verification/evidence/model.ts";

const clock = systemClock;

/** The service's own parts that answer a cached verification, without its HTTP server, for another framework. */
export type CachedServices = Awaited<ReturnType<typeof startCachedServices>>;

/** Nothing is checked here: what no cache knows is not answered. */
function checkNothing(): never {
  throw new AppError("unavailable", "This server knows cached addresses alone.");
}

/** @throws what Postgres throws when it cannot be reached */
export async function startCachedServices(config: Config, log: Logger) {
  const metrics = createMetrics();
  const { url, maxConnections } = config.database;
  const sql = createPostgres({ url, maxConnections, applicationName: "rcpt-bench-fastify" });
  const redis = createRedis({ url: config.redis.url, name: "rcpt-bench-fastify", log });
  await redis.start();
  const quota = createQuota({ ledger: createQuotaLedger(sql), clock, log, metrics });
  const usage = createUsageCounter({ store: createUsageStore(sql), clock, log });
  const rateLimiter = createRateLimiter({ buckets: createRateBuckets(redis.commands), clock, log });
  const authenticator = createAuthenticator({
    credentials: createCredentials(sql),
    domains: createTeamDomains(sql),
    changes: createAuthChanges(sql),
    bus: createAuthBus(redis, log),
    clients: createClientLimiter(),
    clock,
    log,
    metrics,
  });
  const promoted = createPromotedDisposables({ read: () => readPromoted(sql), clock, log });
  authenticator.followLists(() => promoted.reload());
  const cache = createEvidenceCache({
    codec: EVIDENCE_CODEC,
    redis: redis.commands,
    clock,
    log,
    maxEntries: config.verify.cacheEntries,
  });
  const tallies = createVerificationTallies(metrics);
  const examiner = createExaminer({
    clock,
    cache,
    inFlight: { size: () => 0, join: checkNothing },
    lists: { disposable: checkNothing, role: checkNothing, isFree: checkNothing },
    isPromoted: promoted.covers,
    onLookup: (result) => metrics.cacheLookups.inc({ result }),
  });
  const cachedAnswers = createCachedAnswers({ examiner, tallies, limits: LIMITS.verify });
  const cacheHits = metrics.cacheLookups.tally({ result: "memory" });
  const parts = { cache, cachedAnswers, cacheHits, examiner, quota, rateLimiter, usage };
  await Promise.all([authenticator.start(), promoted.start()]);
  for (const part of [quota, usage, rateLimiter]) part.start();
  return {
    clock: clock as Clock,
    metrics,
    authenticator,
    limitsLeft: createLimitsView({ rateLimiter, quota }),
    ...createTaking(parts),
    async stop() {
      promoted.stop();
      await Promise.all([authenticator.stop(), quota.drain(), usage.drain(), rateLimiter.drain()]);
      await redis.stop();
      await sql.end({ timeout: 1 });
    },
  };
}

interface TakingParts {
  cache: EvidenceCache;
  cachedAnswers: CachedAnswers;
  cacheHits: CountCell;
  examiner: Examiner;
  quota: Quota;
  rateLimiter: RateLimiter;
  usage: UsageCounter;
}

function createTaking({ cache, cachedAnswers, cacheHits, examiner, quota, rateLimiter, usage }: TakingParts) {
  function paid(answer: CachedAnswer, actor: Actor, unit: UnitReservation): CachedAnswer {
    unit.commit();
    usage.count(actor.teamId, unit.day, answer.result.verdict, true);
    answer.tally.count += 1;
    cacheHits.count += 1;
    return answer;
  }
  /** @throws AppError where Redis does not know it */
  async function learn(input: VerifyInput, actor: Actor): Promise<CachedAnswer> {
    const { teamId, limits, overlay } = actor;
    const question = examiner.understand(input.email, false, { teamId, probing: limits.probing, overlay });
    if (question.address === null) throw new AppError("validation_failed", "This is no address.");
    const entry = await cache.fetch(question.scope, question.address.cacheKey);
    if (entry === undefined) return checkNothing();
    cachedAnswers.remember(question, examiner.answer(question, { entry, cached: true }).result);
    return cachedAnswers.find(input, actor) ?? checkNothing();
  }
  async function takeLater(
    answer: Promise<CachedAnswer> | CachedAnswer,
    actor: Actor,
    token: Promise<void> | void,
  ): Promise<CachedAnswer> {
    const found = await answer;
    await token;
    return paid(found, actor, await quota.reserve(actor));
  }
  return {
    /** An answer from the cache, paid for: at once where all of it is in memory. @throws AppError if it is not cached */
    take(input: VerifyInput, actor: Actor): CachedAnswer | Promise<CachedAnswer> {
      const found = cachedAnswers.find(input, actor);
      const token = rateLimiter.take(actor, "verify");
      if (found === null || token instanceof Promise)
        return takeLater(found ?? learn(input, actor), actor, token);
      const unit = quota.reserve(actor);
      return unit instanceof Promise
        ? unit.then((reserved) => paid(found, actor, reserved))
        : paid(found, actor, unit);
    },
  };
}
