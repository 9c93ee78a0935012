import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { createVerifyRoute } from "../../src/api/routes/verify.ts";
import type { RequestGate } from "../../src/api/server/dispatch.ts";
import { createHttpServer } from "../../src/api/server/server.ts";
import { LIMITS } from "../../src/config/limits/limits.ts";
import type { AuthChange } from "../../src/features/auth/auth-changes.ts";
import { createAuthenticator } from "../../src/features/auth/authenticate.ts";
import { hashSecret } from "../../src/features/identity/api-key.ts";
import type { CredentialRow, TeamRow } from "../../src/features/identity/credentials.ts";
import { createLimitsView } from "../../src/features/quota/limits-view.ts";
import { createQuota } from "../../src/features/quota/quota.ts";
import type { LeaseGrant } from "../../src/features/quota/quota-ledger.ts";
import { createClientLimiter } from "../../src/features/rate-limit/clients.ts";
import { createRateLimiter } from "../../src/features/rate-limit/rate-limit.ts";
import { createUsageCounter } from "../../src/features/usage/counts.ts";
import type { UsageRow } from "../../src/features/usage/usage-sql.ts";
import { createCachedAnswers } from "../../src/features/verify/answer/cached-answers.ts";
import { createEarlyAdmission } from "../../src/features/verify/answer/early-admission.ts";
import { createExaminer } from "../../src/features/verify/answer/examine.ts";
import { createTestKeys } from "../../src/features/verify/answer/test-keys.ts";
import { createVerificationTallies } from "../../src/features/verify/answer/verification-tallies.ts";
import { createVerifyAddress } from "../../src/features/verify/answer/verify-address.ts";
import { createRowFiller } from "../../src/features/verify/batch/fill-rows.ts";
import { createEvidenceCache } from "../../src/features/verify/cache/evidence-cache.ts";
import { createCheckAdmission } from "../../src/features/verify/checks/admission.ts";
import { createLog } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import type { RedisClient } from "../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../src/verification/evidence/model.ts";
import type { Evidence } from "../../src/verification/evidence.ts";
import { createFakeClock } from "./fake-clock.ts";
import { createMemoryTeamDomains } from "./team-domains.ts";

export type ReadyWorld = Awaited<ReturnType<typeof startReadyWorld>>;

const DAY_MS = 86_400_000;
/** 15 s before midnight UTC: tests that need one day have that long. */
const BEFORE_MIDNIGHT_MS = Date.UTC(2026, 0, 1, 23, 59, 45);

/** Most checks that admission lets in at once: more than a test needs. */
const SEATS = 8;

/** A ledger in memory: grants every lease in full. */
function memoryLedger(dayOf: () => { day: string; msToMidnight: number }) {
  const taken = new Map<string, { day: string; teamId: string; spent: number }>();
  async function lease(id: string, teamId: string, { want }: { want: number }): Promise<LeaseGrant> {
    const { day, msToMidnight } = dayOf();
    taken.set(id, { day, teamId, spent: 0 });
    return { granted: want, tranche: want, day, msToMidnight, committed: 0, leases: [] };
  }
  return {
    /** Units reported so far, with team and day, by lease. */
    taken,
    lease,
    async flush(reports: { id: string; taken: number }[]) {
      for (const { id, taken: spent } of reports) Object.assign(taken.get(id) ?? {}, { spent });
      return new Set(reports.map(({ id }) => id));
    },
    async release({ id, taken: spent }: { id: string; taken: number }) {
      Object.assign(taken.get(id) ?? {}, { spent });
    },
    reap: async () => 0,
    usage: async () => ({ day: "", used: 0, held: 0, leases: [] }),
  };
}

/** An empty Redis that stores nothing: only the memory caches hold evidence. */
const NO_REDIS = { defineCommand() {}, mget: async () => [], rcptKeepEvidence: async () => null };

/**
 * The service between a socket and the stores, on a clock that stands still. Everything but the stores and the engine
 * is real.
 * @param isRemembering rendered answers from the cache are memoised
 */
export async function startReadyWorld(
  isRemembering: boolean,
  options: { corsOrigins?: readonly string[]; cachedAnswers?: number } = {},
) {
  const clock = createFakeClock(BEFORE_MIDNIGHT_MS);
  const log = createLog("silent");
  const metrics = createMetrics();
  const found = new Map<string, { credential: CredentialRow; team: TeamRow }>();
  const changes: AuthChange[] = [];
  const domains = createMemoryTeamDomains();
  const usageRows: UsageRow[] = [];
  const promoted = new Set<string>();
  const authenticator = createAuthenticator({
    credentials: {
      find: async (hash) => structuredClone(found.get(hash.toString("hex")) ?? null),
      touch: async () => undefined,
    },
    domains,
    changes: {
      since: async () => ({ changes: changes.splice(0), cursor: "1", overflow: false }),
      prune: async () => undefined,
    },
    bus: { session: null, listen() {}, announce: async () => undefined, settle: async () => undefined },
    clients: createClientLimiter(),
    clock,
    log,
    metrics,
  });
  const buckets = new Map<string, number>();
  const rateLimiter = createRateLimiter({
    clock,
    log,
    buckets: {
      async take(key, { want, burst, back }) {
        const left = (buckets.get(key) ?? burst) + back;
        const granted = Math.min(want, left);
        buckets.set(key, left - granted);
        return { granted, left: left - granted, nextMs: left > granted ? 0 : 500 };
      },
      hurry() {},
    },
  });
  const dayOf = () => ({
    day: new Date(clock.now()).toISOString().slice(0, 10),
    msToMidnight: DAY_MS - (clock.now() % DAY_MS),
  });
  const ledger = memoryLedger(dayOf);
  const quota = createQuota({ ledger, clock, log, metrics });
  const usage = createUsageCounter({
    store: {
      async record({ rows }) {
        usageRows.push(...rows);
        return [];
      },
    },
    clock,
    log,
  });
  const cache = createEvidenceCache({
    codec: EVIDENCE_CODEC,
    redis: NO_REDIS as unknown as RedisClient,
    clock,
    log,
    maxEntries: 1_000,
  });
  const isPromoted = (domain: string) => promoted.has(domain);
  const lookups = { memory: 0, miss: 0 };
  const examiner = createExaminer({
    clock,
    cache,
    inFlight: {
      size: () => 0,
      join: async (_question, _waiter, arrival) =>
        arrival.settled({ entry: null, cached: false, failure: "deadline" }),
    },
    lists: { disposable: () => ({ listed: false, source: "none" }), role: () => null, isFree: () => false },
    isPromoted,
    onLookup(result) {
      metrics.cacheLookups.inc({ result });
      lookups[result] += 1;
    },
  });
  const admission = createCheckAdmission({
    clock,
    takeWaitMs: () => 0,
    takeIdle: () => 1,
    onRefused: () => metrics.admissionsRefused.inc(),
    limits: { ...LIMITS.inFlightChecks.admission, first: SEATS, least: SEATS, most: SEATS },
  });
  const tallies = createVerificationTallies(metrics);
  const cachedAnswers = isRemembering
    ? createCachedAnswers({
        examiner,
        tallies,
        limits: { cachedAnswers: options.cachedAnswers ?? LIMITS.verify.cachedAnswers },
      })
    : { find: () => null, remember() {} };
  const parts = { examiner, cachedAnswers, admission, rateLimiter, quota, clock };
  const entrance = createEarlyAdmission(parts);
  /** Answers from the memo of rendered answers. */
  const cacheHits = metrics.cacheLookups.tally({ result: "memory" });
  const gate: RequestGate = {
    authenticate: (authorization) => authenticator.authenticate(authorization),
    isKnown: (authorization) => authenticator.isKnown(authorization),
    rateLimit: rateLimiter,
    publicRate: { take: () => assert.fail("no route here is public") },
    limitsLeft: createLimitsView({ rateLimiter, quota }),
    publicLimitsLeft: () => assert.fail("no route here is public"),
    idempotency: { begin: () => Promise.reject(new Error("not here")), drain: async () => undefined },
    reads: { run: async (_share, _isCancelled, read) => read() },
  };
  const server = createHttpServer({
    routes: [
      createVerifyRoute(
        createVerifyAddress({
          examiner,
          enter: (input, actor, waiter) => entrance.enter(input, actor, waiter),
          filler: createRowFiller({ clock, examiner, limits: LIMITS.verify.templates }),
          quota,
          usage,
          tallies,
          testKeys: createTestKeys({ clock, slowMs: 10, isPromoted }),
          cachedAnswers,
          cacheHits,
        }),
        entrance,
      ),
    ],
    gate,
    clients: createClientLimiter(),
    log,
    metrics,
    clock,
    isOutage: () => false,
    config: { host: "127.0.0.1", port: 0, trustedProxies: [], corsOrigins: options.corsOrigins ?? [] },
    limits: { ...LIMITS.http, connections: 100 },
  });
  await authenticator.start();
  quota.start();
  rateLimiter.start();
  usage.start();
  const { port }: Pick<AddressInfo, "port"> = await server.listen();

  return {
    port,
    clock,
    cacheHits,
    promoted,
    /** The team's lists as stored; changing them announces nothing. */
    listsOf: domains.stored,
    /** Creates or changes a stored credential; announces nothing. */
    set(secret: string, credential: Partial<CredentialRow>, team: Partial<TeamRow>): void {
      const teamId = team.id ?? "team_1";
      found.set(hashSecret(secret), {
        credential: {
          id: `key_${secret.slice(-4)}`,
          teamId,
          userId: "usr_1",
          kind: "live",
          keyRole: "owner",
          memberRole: "owner",
          expiresInMs: null,
          ...credential,
        },
        team: { id: teamId, tier: "enterprise", limits: null, ...team },
      });
    },
    /** Fills all slots of admission. @returns releases them */
    crowd(): () => void {
      const places = Array.from({ length: SEATS }, (_, i) => admission.enter(`crowd_${i}`));
      return () => {
        for (const place of places) place.release();
      };
    },
    remove: (secret: string) => void found.delete(hashSecret(secret)),
    /** Announces a change, as the feed would within a poll. */
    announce: (change: AuthChange) => authenticator.invalidate(change),
    /** Adds a change to the feed's next read. */
    note: (change: AuthChange) => void changes.push(change),
    keep: (cacheKey: string, evidence: Evidence, ttlS: number) =>
      cache.store("probed", cacheKey, { evidence, storedAt: clock.now(), ttlS }, false),
    keepUnprobed: (cacheKey: string, evidence: Evidence, ttlS: number) =>
      cache.store("unprobed", cacheKey, { evidence, storedAt: clock.now(), ttlS }, false),
    drain: () => server.drain(),
    /** All counts, once every pending report has been flushed. */
    async accounts() {
      await usage.flush();
      await quota.drain();
      const units = [...ledger.taken.values()].map(({ day, teamId, spent }) => ({ day, teamId, spent }));
      const series = [
        "rcpt_http_requests_total",
        "rcpt_verifications_total",
        "rcpt_evidence_cache_lookups_total",
        "rcpt_admission_refused_total",
      ];
      series.push("rcpt_key_cache_lookups_total", "rcpt_http_request_duration_seconds");
      const text = await metrics.registry.metrics();
      const lines = text.split("\n").filter((line) => series.some((name) => line.startsWith(name)));
      return { units, usage: sumUsage(usageRows), lines: lines.sort() };
    },
    async close() {
      await server.drain();
      server.close();
      await rateLimiter.drain();
      await authenticator.stop();
    },
  };
}

/** Sums usage by team and day, over all flushes. */
function sumUsage(rows: readonly UsageRow[]) {
  const sums = new Map<string, Record<string, number>>();
  for (const { teamId, day, ...counts } of rows) {
    const sum = sums.get(`${teamId} ${day}`) ?? {};
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
    sums.set(`${teamId} ${day}`, sum);
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
}
