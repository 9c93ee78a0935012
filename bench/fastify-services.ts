import { parseAddress } from "../src/check/address.ts";
import { type Clock, systemClock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config.ts";
import { AppError } from "../src/core/errors.ts";
import { LIMITS } from "../src/core/limits.ts";
import type { Logger } from "../src/core/log.ts";
import { createMetrics } from "../src/core/metrics.ts";
import type { Actor } from "../src/services/actor.ts";
import { createAuthenticator } from "../src/services/authenticate/authenticate.ts";
import { createPromotedDisposables } from "../src/services/overrides/promoted-disposables.ts";
import { createQuota } from "../src/services/quota/quota.ts";
import { createClientLimiter } from "../src/services/rate-limit/clients.ts";
import { createRateLimiter } from "../src/services/rate-limit/rate-limit.ts";
import { createUsageCounter } from "../src/services/usage/counts.ts";
import { createExaminer } from "../src/services/verify/examine.ts";
import {
  createReadyAnswers,
  type HandleHolder,
  type ReadyAnswers,
} from "../src/services/verify/ready-answers.ts";
import { createVerificationTallies } from "../src/services/verify/verification-tallies.ts";
import { createAuthBus } from "../src/store/auth-bus.ts";
import { createAuthChanges } from "../src/store/auth-changes.ts";
import { createCredentials } from "../src/store/credentials.ts";
import { createEvidenceCache, type EvidenceCache } from "../src/store/evidence-cache.ts";
import { createPostgres } from "../src/store/postgres.ts";
import { readPromoted } from "../src/store/promoted-disposables.ts";
import { createQuotaLedger } from "../src/store/quota-ledger.ts";
import { createRateBuckets } from "../src/store/rate-bucket.ts";
import { createRedis } from "../src/store/redis.ts";
import { createTeamDomains } from "../src/store/team-domains.ts";
import { createUsageStore } from "../src/store/usage.ts";

const clock = systemClock;

const holders = new WeakMap<Actor, HandleHolder>();

/** Where an actor's desk is kept: fastify's handlers have the actor of a request, no more. */
export function holderOf(actor: Actor): HandleHolder {
  let holder = holders.get(actor);
  if (holder === undefined) {
    holder = { actor, handle: null };
    holders.set(actor, holder);
  }
  return holder;
}

/** What answers a cached verification, without a front: the service's own parts, for another framework to stand before. */
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
    redis: redis.commands,
    clock,
    log,
    maxEntries: config.verify.cacheEntries,
  });
  const tallies = createVerificationTallies(metrics);
  const examiner = createExaminer({
    clock,
    cache,
    flights: { size: () => 0, join: checkNothing },
    lists: { disposable: checkNothing, role: checkNothing, isFree: checkNothing },
    isPromoted: promoted.covers,
    onLookup: (result) => metrics.cacheLookups.inc({ result }),
  });
  const answers = createReadyAnswers({
    examiner,
    rateLimiter,
    quota,
    usage,
    tallies,
    metrics,
    render: JSON.stringify,
    limits: LIMITS.http,
  });
  await Promise.all([authenticator.start(), promoted.start()]);
  for (const part of [quota, usage, rateLimiter]) part.start();
  return {
    clock: clock as Clock,
    metrics,
    authenticator,
    answers,
    /** Learns from Redis, and takes a token and a unit by the call. @throws AppError where there is none */
    take: (email: string, actor: Actor) => takeOne({ rateLimiter, quota, answers, cache }, email, actor),
    async stop() {
      promoted.stop();
      await Promise.all([authenticator.stop(), quota.drain(), usage.drain(), rateLimiter.drain()]);
      await redis.stop();
      await sql.end({ timeout: 1 });
    },
  };
}

interface Takes {
  rateLimiter: ReturnType<typeof createRateLimiter>;
  quota: ReturnType<typeof createQuota>;
  answers: ReadyAnswers;
  cache: EvidenceCache;
}

/** The first answers to a team wait for their leases, and those about an address for Redis. */
async function takeOne({ rateLimiter, quota, answers, cache }: Takes, email: string, actor: Actor) {
  const address = answers.understand(email);
  const parsed = parseAddress(email);
  if (address === null || !parsed.ok) throw new AppError("validation_failed", "This is no address.");
  await rateLimiter.take(actor, "verify");
  const unit = await quota.reserve(actor);
  await cache.fetch(actor.limits.probing ? "probed" : "unprobed", parsed.address.cacheKey);
  const answer = answers.find(address, actor, clock.monotonic());
  if (answer === null) {
    unit.giveBack();
    return checkNothing();
  }
  unit.commit();
  answer.kind.tally.count += 1;
  answers.handleOf(holderOf(actor)).usage.count(unit.day, answer.kind.verdict, true);
  return answer;
}
